// What `mount` takes, with a made response for each operation without a handler: all else is what a server
// does with the contract. A service that calls none of this loads none of it.

import type { FastifyRequest } from 'fastify'
import { valuesOf } from '../compile/examples/values.js'
import type { ReadContract } from '../compile/read.js'
import type { Contract, Operation, Requirement, Response } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'
import { areSentAlike, credentialPlace } from '../document/security.js'
import { type Addition, type Check, type ErrorBodyOf, isStub } from '../index.js'
import { kindOf } from '../kinds/index.js'
import type { MountParts } from '../mount/parts.js'
import { ArrivingItems } from '../serve/request/arriving-items.js'
import type { ErrorFacts } from '../serve/request/errors.js'
import { errorForms } from '../serve/response/error-forms.js'
import { byStatus, createResponseChecks, type ResponseCheck } from '../serve/response/response-validation.js'
import type { AnyHandler } from '../serve/route-handler.js'
import type { CheckList } from '../serve/security/check.js'
import { createByRequest } from './by-request.js'
import { madeAddition } from './made-headers.js'
import { codesOf, createMaker, type MakeResponse, type MakingParts, makingParts } from './made-response.js'
import { checkPreconditions } from './preconditions.js'
import { preferencesOf } from './preferences.js'
import { tellings } from './told.js'

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
export function mockParts(written: ReadContract, options: MockOptions = {}): MountParts<unknown> {
  return mockOf(written, options).parts
}

interface Mock {
  readonly parts: MountParts<unknown>
  /** What makes the responses of each operation without a handler. */
  readonly makers: ReadonlyMap<Operation, MakeResponse>
}

/** The same, with what makes the responses. @throws {ContractError} */
export function mockOf(written: ReadContract, options: MockOptions): Mock {
  refuseInProduction()
  const contract = withMockSecurity(written)
  const { handlers = {}, security = {}, context } = options
  const parts = makingParts(contract)
  const unhandled = [...contract.operations.values()].filter(({ name }) => !isHandled(handlers[name]))
  const makers = new Map(unhandled.map((each) => [each, createMaker(each, parts)]))
  const made = [...makers].map(([each, make]) => [each.name, makingHandler(each, make, contract, parts)])
  return {
    makers,
    parts: {
      contract,
      handlers: { ...handlers, ...Object.fromEntries(made) },
      security: { ...anyCredential(contract), ...security },
      cookieOrigins: 'any',
      additions: [madeAddition(contract, parts)],
      errorBody: options.errorBody ?? madeErrorBody(contract),
      context: (request, operation, resource) =>
        makers.has(operation) ? request : context?.(request, operation, resource),
    },
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

function makingHandler(
  operation: Operation,
  make: MakeResponse,
  contract: ReadContract,
  parts: MakingParts,
): AnyHandler {
  const byRequest = createByRequest(operation, contract, parts)
  return async ({ accept, body }, context) => {
    if (body instanceof ArrivingItems) for await (const _ of body); // each is validated
    const request = context as FastifyRequest // of mockParts
    await checkPreconditions(operation, request, contract)
    const check = request.routeOptions.config.responseCheck as ResponseCheck // of mount
    return byRequest(make({ ...preferencesOf(request.raw.headers.prefer), accept }, check), request, check)
  }
}

// What a server cannot check, such as a certificate, a mock does not ask for; nor two credentials in one
// place.
function withMockSecurity(contract: ReadContract): ReadContract {
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
function madeErrorBody(contract: ReadContract): ErrorBodyOf {
  const parts = makingParts(contract)
  const checkOf = createResponseChecks(parts.functions)
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
        for (const told of tellings(value, facts, [facts.code, ...codesOf(facts.status, parts)]))
          if (isValid(told)) return told
      }
    }
    return undefined
  }
}

/** The headers that another server would add to the responses of an operation. */
export function addedBy(additions: readonly Addition[], operation: Operation, contract: Contract) {
  return Object.assign({}, ...additions.map(({ always }) => always?.(operation, contract)[0]))
}
