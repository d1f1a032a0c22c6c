// Decides whose X-Forwarded-* headers are trusted, as Fastify does for addresses.

import { compile } from '@fastify/proxy-addr'
import type { Config } from '../config.js'

// Enough, because a service behind proxies has few peers.
const peersMax = 1_000

/** Returns a function that tells whether a peer is a trusted proxy. */
export function trustedProxies(trustProxy: Config['trustProxy']): (peer: string | undefined) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const isTrusted = compile(trustProxy)
  const known = new Map<string, boolean>()
  return (peer = '') => {
    const isKnown = known.get(peer)
    if (isKnown !== undefined) return isKnown
    if (known.size === peersMax) known.clear()
    const found = isTrusted(peer, 0)
    known.set(peer, found)
    return found
  }
}
