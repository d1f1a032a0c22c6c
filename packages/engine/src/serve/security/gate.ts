// The gate of an operation, which its requests must pass: its alternatives, and the checks of their schemes.
// Made once for each operation (create-gate.ts), so that a request costs no more than its check.

import type { Contract } from '../../document/contract.js'
import type { RequestError } from '../../document/request-error.js'
import type { CredentialPlace } from '../../document/security.js'
import type { Challenge } from './challenges.js'
import type { Caller, Check, Credential } from './check.js'
import type { IsForeign } from './cookie-guard.js'
import type { ReadCredential } from './credentials.js'

/** A scheme of an operation. */
export interface Step<C extends Caller> {
  /** Its position among those of the gate. */
  readonly index: number
  readonly scheme: string
  readonly check: Check<C, Credential>
  /** Those that the operation demands of it, in any alternative. */
  readonly scopes: readonly string[]
  readonly place: CredentialPlace
  readonly read: ReadCredential
  /** Whether another scheme of the contract is sent in the same place: its credentials are not this one's. */
  readonly hasRivals: boolean
  /** Those of the operation. */
  readonly rivals: readonly Pick<Step<C>, 'check' | 'read'>[]
  readonly challenge: Challenge
  /** How to send the credential, for messages. */
  readonly usage: string
}

/** A step of an alternative, and the scopes that this alternative demands. */
export interface Need<C extends Caller> {
  readonly step: Step<C>
  readonly scopes: readonly string[]
}

/** Schemes that must all be met. */
export interface Alternative<C extends Caller> {
  readonly needs: readonly Need<C>[]
  /** The 403 of a caller who lacks a scope. */
  readonly insufficient: RequestError
  /** Of a cookie, for an operation that is not safe. */
  readonly guard: Guard | undefined
}

/** Keeps pages of other sites from meeting an alternative. */
export interface Guard {
  readonly isForeign: IsForeign
  /** The 403; undefined for an operation that requires nothing, whose caller then is nobody. */
  readonly refusal: RequestError | undefined
}

export interface Gate<C extends Caller> {
  /** The schemes of all alternatives. */
  readonly steps: readonly Step<C>[]
  /** Those with a scheme; an empty one is met by any request, and so not looked at. */
  readonly alternatives: readonly Alternative<C>[]
  /** Whether a request without credentials may pass. */
  readonly isPublic: boolean
  /** The 401 of a request without credentials. */
  readonly missing: RequestError
  readonly contract: Contract
}
