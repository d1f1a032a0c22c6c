// What an application passes to `mount`, and what the operations of a contract share.

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
    /** The headers of every response of the operation, errors included. */
    deprecation?: DeprecationHeaders | undefined
  }
}

/** What an application passes to `mount`. */
export interface MountParts<Resource> extends RouteHandlerParts<Resource> {
  /** The handler of each operation, by the operation's name. */
  readonly handlers: object
  /**
   * The check of each security scheme that an operation with a handler requires, by the scheme's name. An
   * application that authenticates requests before they reach their operation passes a `Security` instead.
   */
  readonly security?: CheckList | Security
  /**
   * Whose pages may use credentials in cookies; ignored if `security` is a `Security`, which has an option of
   * its own.
   */
  readonly cookieOrigins?: CookieOptions['cookieOrigins']
  /** How much the bodies of all requests in flight may hold together. By default, there is no limit. */
  readonly bodies?: BodyMemory
  /** What the server adds to the responses, to check it against the contract. By default, nothing. */
  readonly additions?: readonly Addition[]
  /** The URL at which callers reach the operations. By default, each request says it. */
  readonly address?: AddressOptions | undefined
  /** Makes the bodies of errors, if the contract has a form for them other than the engine's. */
  readonly errorBody?: ErrorBodyOf | undefined
  /** Responds to the errors of operations. The default is `errorHandler(contract, { errorBody })`. */
  readonly errorHandler?: ErrorHandler
}

/** What the operations of a contract share. */
export type Shared<Resource> = Omit<MountParts<Resource>, 'address' | 'security' | 'additions'> &
  ReturnType<typeof functionsOf> & {
    /** By the operations' prefixes. */
    readonly addresses: ReadonlyMap<string, Address>
    readonly security: Security
    /** Without the engine's own addition. */
    readonly additions: readonly Addition[]
    readonly problems: Problems
    readonly mounted: Mounted
    /** Each function compiles the schemas of an operation's requests, when all routes exist. */
    readonly compilers: (() => void)[]
    readonly errorForms: ErrorForms
    /** Returns an operation's prefix, percent-decoded: the application's, followed by the operation's. */
    readonly prefixOf: (operation: Operation) => string
    readonly refuseUnknown: (request: FastifyRequest) => never
  }

/** Returns the functions of a contract, and the function that creates response checks from them. */
export function functionsOf(contract: Contract) {
  const functions = contract.functions()
  return { functions, responseCheckOf: createResponseChecks(functions) }
}

/**
 * Returns the handler of an operation; `mount` refuses an operation without one. The TypeScript compiler has
 * checked that the handler accepts what its operation declares, and validation lets only that pass.
 */
export function handlerOf(
  { name }: Operation,
  { handlers }: Pick<MountParts<never>, 'handlers'>,
): AnyHandler {
  return (handlers as Readonly<Record<string, AnyHandler>>)[name] as AnyHandler // see missingHandlers
}

/** Returns the operations without a handler. An application in TypeScript does not compile without one. */
export function missingHandlers({
  contract,
  handlers,
}: Pick<MountParts<never>, 'contract' | 'handlers'>): readonly Operation[] {
  const given = handlers as Readonly<Record<string, unknown>> // handlers by their names
  return [...contract.operations.values()].filter(({ name }) => given[name] === undefined)
}
