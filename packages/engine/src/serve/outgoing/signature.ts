// Signatures of requests that the service sends, by the Standard Webhooks specification (version 1.0.0):
// HMAC-SHA256 with secrets that a receiver shares. Its library for Node computes SHA-256 in JavaScript; this
// is Node's own.

import { createHmac } from 'node:crypto'
import type { signatureHeaders } from '../../document/contract.js'

type SignatureHeader = (typeof signatureHeaders)[number]

/** What a receiver verifies. */
export interface Signing {
  /** Identifies what is told: the same when it is sent again, so that the receiver takes it once. */
  readonly id: string
  /**
   * `whsec_` and 24 to 64 bytes in base64. During a rotation the old one and the new one: the receiver
   * accepts a signature by either.
   */
  readonly secrets: readonly string[]
  /** When it is sent, by default now: the receiver refuses what is minutes old. */
  readonly at?: Date
}

/** The headers that sign a body. @throws {Error} if the id or a secret cannot be used; it shows no secret */
export function signatureOf(
  body: string,
  { id, secrets, at = new Date() }: Signing,
): Record<SignatureHeader, string> {
  // A full stop would separate the parts of what is signed.
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
