// Requests that others on their way may have read differently.

import type { IncomingMessage } from 'node:http'

/**
 * RFC 9112, sections 3.2 and 6.1: HTTP/1.1 wants one host, and a coding that nobody here takes off, or any in HTTP/1.0, is as good as a
 * body that nobody can delimit. (501 is for codings that a server may come to know, and a 5xx is a fault of the service.) Of
 * two keys, or two types, nobody could say which was meant; Node takes the first.
 */
export function isAmbiguous({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const seen = { host: 0, authorization: 0, 'content-type': 0 }
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    const isCoded = name === 'transfer-encoding'
    if (isCoded && (httpVersion === '1.0' || rawHeaders[i + 1]?.toLowerCase() !== 'chunked')) return true
    if (name === 'host' || name === 'authorization' || name === 'content-type') seen[name]++
  }
  const isRepeated = seen.host > 1 || seen.authorization > 1 || seen['content-type'] > 1
  return isRepeated || (seen.host === 0 && httpVersion === '1.1')
}
