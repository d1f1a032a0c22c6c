// The check of a security scheme: what an application hands in for each scheme of its contract, and what it
// gets to judge. The engine reads the credential; whose it is, the check alone knows.

import type { FastifyRequest } from 'fastify'
import type { RequestError } from '../../document/request-error.js'

/** Who sent a request, as a check found it. Applications extend it. */
export interface Caller {
  /** What the caller may do: scopes and, for schemes without scopes, the roles of OpenAPI 3.1. */
  readonly scopes: ReadonlySet<string>
}

/** The credential of HTTP Basic (RFC 7617). */
export interface UsernamePassword {
  readonly username: string
  readonly password: string
}

/** What was sent for a scheme: of `http basic` a name and a password, of any other its text. */
export type Credential = string | UsernamePassword

/** What a check may need beside the credential. */
export interface Demand {
  readonly request: FastifyRequest
  /** The name of the scheme in the contract. */
  readonly scheme: string
  /** Those that the operation demands of the scheme, in any alternative. The engine itself compares them. */
  readonly scopes: readonly string[]
}

/** The code and the message of a 401. */
export interface CheckError {
  readonly code: string
  readonly message: string
}

/** The 401s of a check. */
export interface CheckErrors {
  /** By default `missing_credentials`. */
  readonly missing?: CheckError
  /** By default `invalid_credentials`. */
  readonly invalid?: CheckError
}

/** The check of a security scheme. */
export interface Check<C extends Caller = Caller, Sent = string> {
  /**
   * The caller of a credential: at once if it is known, because every request waits for it, or by a promise.
   * Undefined if the credential is not valid.
   * @throws {RequestError} a 401 of its own, to which the engine adds the challenges, or a 503 if it cannot
   * tell now
   */
  caller(credential: Sent, demand: Demand): C | undefined | Promise<C | undefined>
  /**
   * Whether a credential has this check's form. Two schemes whose credentials are sent in the same place need
   * it: each gets its own alone, also where an operation names one of them. Checks with the same function are
   * of the same form.
   */
  recognizes?(credential: Sent): boolean
  /** The caller as last known, however long ago: for what needs no valid credential. */
  recall?(credential: Sent): C | undefined
  /** The codes and messages of its 401s, if not the engine's. */
  readonly errors?: CheckErrors
}

/** A check whose credential may be of any kind. A method's parameter is bivariant, so that each fits. */
export type AnyCheck<C extends Caller = Caller> = Check<C, never>

/** The checks of an application, by the names of their schemes. Those of stubs may be undefined. */
export type CheckList<C extends Caller = Caller> = Readonly<Record<string, AnyCheck<C> | undefined>>

/** The verdict on a request: who sent it, or why it may not pass. */
export interface Verdict<C extends Caller = Caller> {
  /**
   * The caller of the first scheme of the alternative that was met or, if `refusal` is a 403, of one that
   * lacks scopes or whose cookie a page of another site has used: a quota counts it, too.
   */
  readonly caller: C | undefined
  /** Of all schemes of the alternative that was met, by their names. */
  readonly callers: Readonly<Record<string, C>>
  /** The 401, 403 or 503 of a request that meets no alternative. */
  readonly refusal: RequestError | undefined
}
