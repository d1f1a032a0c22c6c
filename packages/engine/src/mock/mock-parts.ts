// The arguments of `mount` for a mock: each operation without a handler gets a made response. In all else,
// the server treats the contract as usual. A service that does not import this module loads none of it.

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
  /** The existing handlers, by the names of their operations. Operations with a stub get made responses. */
  readonly handlers?: Readonly<Record<string, unknown>>
  /** The existing checks, by the names of their schemes. All other schemes accept any credential. */
  readonly security?: CheckList
  /** Makes the second argument of the given handlers. */
  readonly context?: MountParts<unknown>['context']
  readonly errorBody?: ErrorBodyOf
}

/**
 * Returns the arguments of `mount` for a mock of a contract.
 * @throws {ContractError} in production, where responses must not be made up
 */
export function mockParts(written: ReadContract, options: MockOptions = {}): MountParts<unknown> {
  return mockOf(written, options).parts
}

interface Mock {
  readonly parts: MountParts<unknown>
  /** The makers of the operations without a handler. */
  readonly makers: ReadonlyMap<Operation, MakeResponse>
}

/**
 * Like `mockParts`, and also returns the makers of the responses.
 * @throws {ContractError} in production
 */
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

/** @throws {ContractError} in production */
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
    if (body instanceof ArrivingItems) for await (const _ of body); // validates each item
    const request = context as FastifyRequest // by `context` of `mockOf`
    await checkPreconditions(operation, request, contract)
    const check = request.routeOptions.config.responseCheck as ResponseCheck // set by `mount`
    return byRequest(make({ ...preferencesOf(request.raw.headers.prefer), accept }, check), request, check)
  }
}

// Leaves out requirements that no server can check, such as a certificate, and a second credential in the
// same place.
function withMockSecurity(contract: ReadContract): ReadContract {
  const operations = [...contract.operations].map(([id, operation]): [string, Operation] => [
    id,
    { ...operation, security: operation.security.map((each) => checkable(each, contract)) },
  ])
  // The contract's list of codes, if it has one, may lack those of the engine.
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

// Each check has a form of its own, as two schemes whose credentials are sent in the same place need.
function anyCredential({ securitySchemes, errorStatuses }: Contract): CheckList {
  const caller = { scopes: new AnyScopes() }
  const errors = refusalsIn(errorStatuses)
  const check = (): Check => ({ caller: () => caller, recognizes: () => true, ...(errors && { errors }) })
  return Object.fromEntries([...securitySchemes.keys()].map((name) => [name, check()]))
}

// Uses the contract's own codes, if it lists codes of a 401.
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

// Makes the bodies of errors if the contract's form is not one of the engine's: a value of the schema, with
// the facts about the error in the fields that are named for them.
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

/** Returns the headers that another server would add to the responses of an operation. */
export function addedBy(additions: readonly Addition[], operation: Operation, contract: Contract) {
  return Object.assign({}, ...additions.map(({ always }) => always?.(operation, contract)[0]))
}
