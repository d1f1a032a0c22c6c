// What tells callers apart where something is kept of each: counters, and responses to repeated requests. It
// is stored, so another release must compute the same.

import { hash } from 'node:crypto'

/** A caller, by the security scheme that has found it and its name there. */
export interface Named {
  readonly scheme: string
  readonly subject: string
  /** The id of its API key. */
  readonly keyId?: string
}

/**
 * The id of a caller: that of its API key, which is a number, or else a hash of 43 characters. A subject may
 * have any length and any characters. A scheme's name has no blank (OpenAPI 3.1, section 4.8.7.1).
 */
export function callerId({ keyId, scheme, subject }: Named): string {
  return keyId ?? hash('sha256', `${scheme} ${subject}`, 'base64url')
}

/** The id of several callers of one request together: a hash of their ids, which no single caller has. */
export function jointId(callers: readonly Named[]): string {
  return hash('sha256', callers.map(callerId).sort().join(), 'base64url')
}
