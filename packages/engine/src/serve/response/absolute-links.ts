// Makes the links in response headers absolute when they are sent. Most clients throw at a relative link, and
// some take `pets` for a host name and send their key to that host.

import type { FastifyRequest } from 'fastify'
import type { Address } from '../paths/address.js'

type Value = string | string[]

const names: ReadonlySet<string> = new Set(['location', 'content-location', 'link'])

/** Returns headers with absolute links in `Location`, `Content-Location` and `Link`. */
export function withAbsoluteLinks<Headers extends Readonly<Record<string, Value>>>(
  headers: Headers,
  request: FastifyRequest,
  address: Address,
): Headers {
  let sent: Record<string, Value> | undefined
  for (const name in headers) {
    const key = name.toLowerCase()
    if (!names.has(key)) continue
    sent ??= { ...headers }
    sent[name] = absolute(key, headers[name] as Value, (target) => address.absolute(target, request))
  }
  return (sent ?? headers) as Headers
}

function absolute(key: string, value: Value, resolve: (target: string) => string): Value {
  if (typeof value !== 'string') return value.map((each) => absolute(key, each, resolve) as string)
  return key === 'link' ? mapTargets(value, resolve) : resolve(value)
}

// Targets are in angle brackets (RFC 8288, section 3). Quoted values of parameters may contain such brackets,
// but most responses have one link and no others.
function mapTargets(links: string, map: (target: string) => string): string {
  if (links.startsWith('<') && links.lastIndexOf('<') === 0) {
    const end = links.indexOf('>')
    return end < 0 ? links : `<${map(links.slice(1, end))}${links.slice(end)}`
  }
  return links.replace(/<[^<>]*>|"(?:[^"\\]|\\.)*"?/g, (part) =>
    part.startsWith('<') ? `<${map(part.slice(1, -1))}>` : part,
  )
}
