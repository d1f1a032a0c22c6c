import type { IncomingHttpHeaders } from 'node:http'

/**
 * How many bytes the body of a request has: 0 if it has none (RFC 9112, section 6.3). Undefined if it comes in
 * chunks: as many as arrive.
 */
export function bodyLength(headers: IncomingHttpHeaders): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined
}
