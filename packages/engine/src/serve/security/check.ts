// The check of a security scheme, which an application provides for each scheme of its contract. The engine
// reads the credential; only the check knows whose it is.

import type { FastifyRequest } from 'fastify'
import type { RequestError } from '../../document/request-error.js'

/** Who sent a request, according to a check. Applications extend this type. */
export interface Caller {
  /** What the caller may do: scopes and, for schemes without scopes, the roles of OpenAPI 3.1. */
  readonly scopes: ReadonlySet<string>
}

/** The credential of HTTP Basic (RFC 7617). */
export interface UsernamePassword {
  readonly username: string
  readonly password: string
}

/** What a request sends for a scheme: a name and a password for `http basic`, a text for any other scheme. */
export type Credential = string | UsernamePassword

/** What a check may need beside the credential. */
export interface Demand {
  readonly request: FastifyRequest
  /** The name of the scheme in the contract. */
  readonly scheme: string
  /**
   * The scopes that the operation demands of the scheme, in any of its alternatives. The engine compares them
   * itself.
   */
  readonly scopes: readonly string[]
}

/** The code and the message of a 401. */
export interface CheckError {
  readonly code: string
  readonly message: string
}

/** The 401s of a check. */
export interface CheckErrors {
  /** The default has the code `missing_credentials`. */
  readonly missing?: CheckError
  /** The default has the code `invalid_credentials`. */
  readonly invalid?: CheckError
}

/** The check of a security scheme. */
export interface Check<C extends Caller = Caller, Sent = string> {
  /**
   * Returns the caller to whom a credential belongs; undefined if the credential is not valid. Every request
   * waits for it, so return the caller directly if it is known, and a promise only otherwise.
   * @throws {RequestError} a 401 of the check's own, to which the engine adds the challenges, or a 503 if the
   * check cannot tell now
   */
  caller(credential: Sent, demand: Demand): C | undefined | Promise<C | undefined>
  /**
   * True if a credential has the form that this check expects. Two schemes whose credentials are sent in the
   * same place need it: each check then gets only credentials of its own form, even in an operation that
   * names one of them only. Two checks with the same function are taken to have the same form.
   */
  recognizes?(credential: Sent): boolean
  /** Returns the caller as last known, however long ago, for uses that need no valid credential. */
  recall?(credential: Sent): C | undefined
  /** The codes and messages of its 401s, if they are not the engine's. */
  readonly errors?: CheckErrors
}

/**
 * A check with any kind of credential. Parameters of methods are bivariant, so every check is assignable to
 * it.
 */
export type AnyCheck<C extends Caller = Caller> = Check<C, never>

/**
 * The checks of an application, by the names of their schemes. Schemes that only stubs name may be undefined.
 */
export type CheckList<C extends Caller = Caller> = Readonly<Record<string, AnyCheck<C> | undefined>>

/** The verdict on a request: who sent it, or why it may not pass. */
export interface Verdict<C extends Caller = Caller> {
  /**
   * The caller of the first scheme of the alternative that the request meets. If `refusal` is a 403, it is a
   * caller who lacks scopes, or whose cookie was sent by a page of another site: a quota still counts the
   * request.
   */
  readonly caller: C | undefined
  /** The callers of all schemes of the alternative that the request meets, by the schemes' names. */
  readonly callers: Readonly<Record<string, C>>
  /** The 401, 403 or 503 of a request that meets no alternative. */
  readonly refusal: RequestError | undefined
}
