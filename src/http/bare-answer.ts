// An error that is answered past Fastify: on Node's response, or on the socket itself.

import type { ErrorBody } from '../../generated/operations.js'
import { securityHeaders } from './headers.js'

/** The text of the one error body, and every header of such an answer but those of the request and the connection. */
export function bareAnswer(body: ErrorBody): { payload: string; headers: Record<string, string> } {
  const payload = JSON.stringify(body)
  const headers = {
    ...securityHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(payload)),
  }
  return { payload, headers }
}
