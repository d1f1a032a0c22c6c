// What `mount` takes, with a made response for each operation without a handler: all else is what a server
// does with the contract. A service that calls none of this loads none of it.

import type { FastifyRequest } from 'fastify'
import type { Contract, Operation, Requirement, Response } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'
import { areSentAlike, credentialPlace } from '../document/security.js'
import { type Addition, type Check, type CheckList, type ErrorBodyOf, isStub } from '../index.js'
import { kindOf } from '../kinds/index.js'
import type { MountParts } from '../mount/parts.js'
import type { ErrorFacts } from '../serve/base/errors.js'
import { ArrivingItems } from '../serve/request/arriving-items.js'
import { errorForms } from '../serve/response/error-forms.js'
import { byStatus, createResponseChecks, type ResponseCheck } from '../serve/response/response-validation.js'
import type { AnyHandler } from '../serve/route-handler.js'
import { madeAddition } from './made-headers.js'
import { createMaker, makingParts } from './made-response.js'
import { preferencesOf } from './preferences.js'
import { valuesOf } from './values.js'

export interface MockOptions {
  /** The handlers that there are, by the names of their operations. Those of stubs are made. */
  readonly handlers?: Readonly<Record<string, unknown>>
  /** The checks that there are, by the names of their schemes. Any other scheme accepts each credential. */
  readonly security?: CheckList
  /** Makes the second argument of those handlers. */
  readonly context?: MountParts<unknown>['context']
  readonly errorBody?: ErrorBodyOf
}

/**
 * What `mount` takes for a mock of a contract.
 * @throws {ContractError} in production, whose responses must not be made up
 */
export function mockParts(written: Contract, options: MockOptions = {}): MountParts<unknown> {
  refuseInProduction()
  const contract = withMockSecurity(written)
  const { handlers = {}, security = {}, context } = options
  const parts = makingParts(contract)
  const made = new Map<Operation, AnyHandler>()
  for (const operation of contract.operations.values())
    if (!isHandled(handlers[operation.name])) made.set(operation, makingHandler(operation, parts))
  const errorBody = options.errorBody ?? madeErrorBody(contract)
  return {
    contract,
    handlers: { ...handlers, ...Object.fromEntries([...made].map(([{ name }, handler]) => [name, handler])) },
    security: { ...anyCredential(contract), ...security },
    cookieOrigins: 'any',
    additions: [madeAddition(contract, parts)],
    errorBody,
    context: (request, operation, resource) =>
      made.has(operation) ? request : context?.(request, operation, resource),
  }
}

/** @throws {ContractError} */
export function refuseInProduction(env: NodeJS.ProcessEnv = process.env): void {
  if (env.NODE_ENV !== 'production') return
  const reason = 'a mock makes its responses up and accepts any credential: never in production'
  throw new ContractError(`${reason} (NODE_ENV=production)`)
}

function isHandled(handler: unknown): boolean {
  return handler !== undefined && !isStub(handler as object)
}

function makingHandler(operation: Operation, parts: Parameters<typeof createMaker>[1]): AnyHandler {
  const make = createMaker(operation, parts)
  return async ({ accept, body }, context) => {
    if (body instanceof ArrivingItems) for await (const _ of body); // each is validated
    const { raw, routeOptions } = context as FastifyRequest // of mockParts
    const { responseCheck } = routeOptions.config
    return make({ ...preferencesOf(raw.headers.prefer), accept }, responseCheck as ResponseCheck)
  }
}

// What a server cannot check, such as a certificate, a mock does not ask for; nor two credentials in one
// place.
function withMockSecurity(contract: Contract): Contract {
  const operations = [...contract.operations].map(([id, operation]): [string, Operation] => [
    id,
    { ...operation, security: operation.security.map((each) => checkable(each, contract)) },
  ])
  // Its list of codes, if it has one, need not have those of the engine.
  return { ...contract, operations: new Map(operations), describesErrors: false }
}

function checkable(requirements: readonly Requirement[], contract: Contract): readonly Requirement[] {
  const asked = requirements.filter(
    ({ name }) => credentialPlace(contract.securitySchemes.get(name)) !== undefined,
  )
  return asked.filter(
    ({ name }, i) => !asked.slice(0, i).some((other) => areSentAlike(other.name, name, contract)),
  )
}

class AnyScopes extends Set<string> {
  override has(): boolean {
    return true
  }
}

// Each of a form of its own, as two schemes that are sent in the same place need.
function anyCredential({ securitySchemes, errorStatuses }: Contract): CheckList {
  const caller = { scopes: new AnyScopes() }
  const errors = refusalsIn(errorStatuses)
  const check = (): Check => ({ caller: () => caller, recognizes: () => true, ...(errors && { errors }) })
  return Object.fromEntries([...securitySchemes.keys()].map((name) => [name, check()]))
}

// With the contract's own code, where it lists those of a 401.
function refusalsIn(statuses: Contract['errorStatuses']): Check['errors'] {
  const codes = [...statuses].filter(([, status]) => status === 401).map(([code]) => code)
  if (codes.length === 0 || statuses.has('missing_credentials')) return undefined
  const code = codes.find((each) => each.includes('missing')) ?? (codes[0] as string)
  const invalid = codes.find((each) => each.includes('invalid')) ?? code
  return {
    missing: { code, message: 'Send a credential: a mock accepts any.' },
    invalid: { code: invalid, message: 'The credential is not of the declared form.' },
  }
}

// Where the contract has another form for its errors than the engine's: a value of its schema, with what is
// known of the error in the fields that are named for it.
function madeErrorBody(contract: Contract): ErrorBodyOf {
  const parts = makingParts(contract)
  const checkOf = createResponseChecks(parts.judges)
  const forms = errorForms(contract)
  const known = new Map<
    string,
    { readonly check: ResponseCheck; readonly isOwn: (facts: ErrorFacts) => boolean }
  >()
  return (facts) => {
    const operation = contract.operations.get(facts.operation ?? '')
    if (operation === undefined) return undefined
    const { check, isOwn } = known.get(operation.id) ?? formOf(operation)
    if (isOwn(facts)) return undefined
    const response = byStatus(operation.responses)(facts.status)
    return response === undefined ? undefined : errorValue(response, facts, check)
  }

  function formOf(operation: Operation) {
    const check = checkOf(operation, false)
    const form = forms.of(operation, check)
    const entry = { check, isOwn: (facts: ErrorFacts) => form(facts).isDeclared }
    known.set(operation.id, entry)
    return entry
  }

  function errorValue({ contents }: Response, facts: ErrorFacts, check: ResponseCheck): unknown {
    for (const content of contents) {
      const { schema, mediaType } = content
      const isValid = (body: unknown) => check.fault(facts.status, body, mediaType) === undefined
      if (kindOf(content).receivedAs !== 'json') {
        if (isValid(facts.message)) return facts.message
        continue
      }
      for (const value of valuesOf(schema ?? true, parts)) {
        const told = withFacts(value, facts)
        if (isValid(told)) return told
        if (isValid(value)) return value
      }
    }
    return undefined
  }
}

const factNames: readonly (readonly [name: RegExp, of: (facts: ErrorFacts) => unknown])[] = [
  [/^(?:message|detail|details|description|error_description|reason|msg)$/i, ({ message }) => message],
  [/^(?:code|error|error_?code|type)$/i, ({ code }) => code],
  [/^(?:status|status_?code|http_?status)$/i, ({ status }) => status],
]

// Of its own fields and those of an object within, as in `{ error: { message } }`.
function withFacts(value: unknown, facts: ErrorFacts): unknown {
  if (Array.isArray(value)) return value.map((each) => withFacts(each, facts))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, each]) => {
    const fact = factNames.find(([pattern]) => pattern.test(name))?.[1](facts)
    if (typeof each === 'object') return [name, withFacts(each, facts)]
    return [name, fact !== undefined && typeof fact === typeof each ? fact : each]
  })
  return Object.fromEntries(fields)
}

/** The headers that another server would add to the responses of an operation. */
export function addedBy(additions: readonly Addition[], operation: Operation, contract: Contract) {
  return Object.assign({}, ...additions.map(({ always }) => always?.(operation, contract)[0]))
}
