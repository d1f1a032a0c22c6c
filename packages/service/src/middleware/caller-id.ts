// The id of a caller for data that the service keeps about it: counters, and responses to repeated requests.
// Other releases must compute the same id, because it is stored.

import { hash } from 'node:crypto'

/** A caller, named by its security scheme and its subject within that. */
export interface Named {
  readonly scheme: string
  readonly subject: string
  /** The id of its API key. */
  readonly keyId?: string
}

/**
 * Returns the id of a caller: the id of its API key, which is a number, or a hash of 43 characters, because a
 * subject may have any length and any characters. A scheme's name has no blank (OpenAPI 3.1, section
 * 4.8.7.1).
 */
export function callerId({ keyId, scheme, subject }: Named): string {
  return keyId ?? hash('sha256', `${scheme} ${subject}`, 'base64url')
}

/**
 * Returns the id of several callers that send one request together: a hash of their ids. No single caller has
 * it.
 */
export function jointId(callers: readonly Named[]): string {
  return hash('sha256', callers.map(callerId).sort().join(), 'base64url')
}
