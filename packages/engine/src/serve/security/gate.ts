// The gate of an operation, which its requests have to pass: its alternatives, and the checks of their
// schemes. It is made once for each operation (create-gate.ts), so that a request costs only its check.

import type { Contract } from '../../document/contract.js'
import type { RequestError } from '../../document/request-error.js'
import type { CredentialPlace } from '../../document/security.js'
import type { Challenge } from './challenges.js'
import type { Caller, Check, Credential } from './check.js'
import type { IsForeign } from './cookie-guard.js'
import type { ReadCredential } from './credentials.js'

/** A scheme of an operation. */
export interface Step<C extends Caller> {
  /** Its index in the gate's steps. */
  readonly index: number
  readonly scheme: string
  readonly check: Check<C, Credential>
  /** The scopes that the operation demands of the scheme, in any of its alternatives. */
  readonly scopes: readonly string[]
  readonly place: CredentialPlace
  readonly read: ReadCredential
  /** True if the credentials of another scheme of the contract are sent in the same place. */
  readonly hasRivals: boolean
  /** The schemes of this operation whose credentials are sent in the same place. */
  readonly rivals: readonly Pick<Step<C>, 'check' | 'read'>[]
  readonly challenge: Challenge
  /** How to send the credential, for messages. */
  readonly usage: string
}

/** A step in an alternative, and the scopes that the alternative demands of it. */
export interface Need<C extends Caller> {
  readonly step: Step<C>
  readonly scopes: readonly string[]
}

/** Schemes that a request must meet together. */
export interface Alternative<C extends Caller> {
  readonly needs: readonly Need<C>[]
  /** The 403 of a caller who lacks a scope. */
  readonly insufficient: RequestError
  /** Guards the alternative if it uses a cookie and the operation is not safe. */
  readonly guard: Guard | undefined
}

/** Keeps pages of other sites from meeting an alternative. */
export interface Guard {
  readonly isForeign: IsForeign
  /**
   * The 403. It is undefined for an operation that requires no credential: its request then counts as
   * anonymous.
   */
  readonly refusal: RequestError | undefined
}

export interface Gate<C extends Caller> {
  /** The schemes of all alternatives. */
  readonly steps: readonly Step<C>[]
  /** The alternatives with a scheme. An empty alternative is left out: any request meets it. */
  readonly alternatives: readonly Alternative<C>[]
  /** True if a request without credentials may pass. */
  readonly isPublic: boolean
  /** The 401 of a request without credentials. */
  readonly missing: RequestError
  readonly contract: Contract
}
