// Requests that a proxy in front of the service may have parsed differently (request smuggling).

import type { IncomingMessage } from 'node:http'
import { isAuthority } from 'contract-engine/lib/origin'
import type { FastifyRequest } from 'fastify'

/** Returns true if a request is ambiguous, and then makes its response the last of its connection. */
export function closeIfAmbiguous({ raw, lifetime }: FastifyRequest): boolean {
  if (!isAmbiguous(raw)) return false
  lifetime?.makeLast()
  return true
}

// RFC 9112, sections 3.2 and 6.1: HTTP/1.1 requires exactly one valid Host. A transfer coding other than
// chunked, or any in HTTP/1.0, leaves the end of the body unknown. (The RFC suggests 501, but a 5xx would
// count as an error of the service.) If Authorization or Content-Type is sent twice, a proxy may take the
// other one than Node.
function isAmbiguous({ rawHeaders, headers, httpVersion }: IncomingMessage): boolean {
  const seen = { host: 0, authorization: 0, 'content-type': 0 }
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    const hasCoding = name === 'transfer-encoding'
    if (hasCoding && (httpVersion === '1.0' || rawHeaders[i + 1]?.toLowerCase() !== 'chunked')) return true
    if (name === 'host' || name === 'authorization' || name === 'content-type') seen[name]++
  }
  const isRepeated = seen.host > 1 || seen.authorization > 1 || seen['content-type'] > 1
  if (isRepeated || (seen.host === 0 && httpVersion === '1.1')) return true
  return headers.host !== undefined && !isAuthority(headers.host)
}
