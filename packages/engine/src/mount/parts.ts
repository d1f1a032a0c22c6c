// What an application gives to mount a contract, and what its operations share.

import type { FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../document/contract.js'
import type { Address, AddressOptions } from '../serve/paths/address.js'
import type { Mounted } from '../serve/paths/mounted.js'
import type { BodyMemory } from '../serve/request/body-memory.js'
import type { Addition } from '../serve/response/additions.js'
import type { DeprecationHeaders } from '../serve/response/deprecation.js'
import type { ErrorBodyOf, ErrorForms } from '../serve/response/error-forms.js'
import type { ErrorHandler } from '../serve/response/error-response.js'
import { createResponseChecks } from '../serve/response/response-validation.js'
import type { AnyHandler, RouteHandlerParts } from '../serve/route-handler.js'
import type { CheckList } from '../serve/security/check.js'
import type { CookieOptions } from '../serve/security/cookie-guard.js'
import type { Security } from '../serve/security/security.js'
import type { Problems } from './problems.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
    address?: Address
    /** Sent with every response of the operation, errors included. */
    deprecation?: DeprecationHeaders | undefined
  }
}

/** What an application gives. */
export interface MountParts<Resource> extends RouteHandlerParts<Resource> {
  /** The handler of each operation, by the operation's name. */
  readonly handlers: object
  /**
   * The check of each security scheme that operations with a handler require, by the scheme's name; or the
   * security made of them, for an application that authenticates requests before they reach their operation.
   */
  readonly security?: CheckList | Security
  /** Whose pages may use credentials in cookies; a `Security` has been told by itself. */
  readonly cookieOrigins?: CookieOptions['cookieOrigins']
  /** What the bodies of all requests in flight may hold together. By default any number of bytes. */
  readonly bodies?: BodyMemory
  /** What the server adds to the responses, to be checked against the contract. By default nothing. */
  readonly additions?: readonly Addition[]
  /** Where callers reach the operations. By default each request says it. */
  readonly address?: AddressOptions | undefined
  /** Makes the bodies of errors, if the contract has another form for them than the engine. */
  readonly errorBody?: ErrorBodyOf | undefined
  /** Responds to the errors of operations. By default `errorHandler(contract, { errorBody })`. */
  readonly errorHandler?: ErrorHandler
}

/** What the operations of a contract share. */
export type Shared<Resource> = Omit<MountParts<Resource>, 'address' | 'security' | 'additions'> &
  ReturnType<typeof functionsOf> & {
    /** By the prefix of operations. */
    readonly addresses: ReadonlyMap<string, Address>
    readonly security: Security
    /** All but the engine's own. */
    readonly additions: readonly Addition[]
    readonly problems: Problems
    readonly mounted: Mounted
    /** Each compiles the schemas of an operation's requests, once all routes are there. */
    readonly compilers: (() => void)[]
    readonly errorForms: ErrorForms
    /** Of an operation, percent-decoded: that of the application, and its own. */
    readonly prefixOf: (operation: Operation) => string
    readonly refuseUnknown: (request: FastifyRequest) => never
  }

/** The functions of a contract, and what checks responses by them. */
export function functionsOf(contract: Contract) {
  const functions = contract.functions()
  return { functions, responseCheckOf: createResponseChecks(functions) }
}

/**
 * The handler of an operation; `mount` refuses an operation without one. The compiler has checked that it
 * takes what its operation declares; validation ensures it.
 */
export function handlerOf(
  { name }: Operation,
  { handlers }: Pick<MountParts<never>, 'handlers'>,
): AnyHandler {
  return (handlers as Readonly<Record<string, AnyHandler>>)[name] as AnyHandler // see missingHandlers
}

/** The operations that an application has given no handler, which JavaScript can do. */
export function missingHandlers({
  contract,
  handlers,
}: Pick<MountParts<never>, 'contract' | 'handlers'>): readonly Operation[] {
  const given = handlers as Readonly<Record<string, unknown>> // by their names
  return [...contract.operations.values()].filter(({ name }) => given[name] === undefined)
}
