// Signs the requests that the service sends, by the Standard Webhooks specification (version 1.0.0):
// HMAC-SHA256 with secrets shared with the receiver. The specification's library for Node computes SHA-256 in
// JavaScript; this module uses Node's own.

import { createHmac } from 'node:crypto'
import type { signatureHeaders } from '../../document/contract.js'

type SignatureHeader = (typeof signatureHeaders)[number]

/** What a signature is made from, beside the body. */
export interface Signing {
  /** Identifies the message. Use the same id when it is sent again, so that the receiver handles it once. */
  readonly id: string
  /**
   * Each is `whsec_` and 24 to 64 bytes in base64. Give the old and the new secret during a rotation: the
   * receiver accepts a signature by either.
   */
  readonly secrets: readonly string[]
  /** When the message is sent; by default, now. The receiver refuses messages that are minutes old. */
  readonly at?: Date
}

/**
 * Returns the headers that sign a body.
 * @throws {Error} if the id or a secret cannot be used; the message shows no secret
 */
export function signatureOf(
  body: string,
  { id, secrets, at = new Date() }: Signing,
): Record<SignatureHeader, string> {
  // Full stops separate the parts of the signed text, so the id must have none.
  if (!/^[\w:-]+$/.test(id)) throw new Error('the id of a webhook must be letters, digits, _, : and -')
  if (secrets.length === 0) throw new Error('a webhook needs at least one secret to be signed')
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', secretKey(secret)).update(`${id}.${timestamp}.${body}`)
    return `v1,${mac.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

function secretKey(secret: string): Buffer {
  const [, base64 = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  const key = Buffer.from(base64, 'base64')
  if (key.length < 24 || key.length > 64 || key.toString('base64') !== base64)
    throw new Error('a secret of a webhook must be whsec_ and 24 to 64 bytes in base64')
  return key
}
