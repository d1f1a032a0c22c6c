// The target of a request, in the form that the router takes (RFC 9112, section 3.2).

import type { FastifyRequest } from 'fastify'

// No client can send a blank in a target.
const malformed = '// '

/**
 * The origin form of a target: that of an absolute one is what follows its host. Fastify runs no hooks for a
 * target that its router cannot read, so a malformed one is replaced by one that no route has: such a request
 * is counted, logged and readable by pages like any other, and admission refuses it.
 */
export function toOriginForm({ url = '' }: { readonly url?: string | undefined }): string {
  if (url.startsWith('/') && !url.includes('%')) return url
  try {
    const target = url.startsWith('/') ? url : withoutHost(url)
    decodeURI(target.replace(/[?#].*$/s, ''))
    return target
  } catch {
    return malformed
  }
}

/** Whether the target of the request cannot be read. */
export function hasMalformedTarget({ url }: FastifyRequest): boolean {
  return url === malformed
}

function withoutHost(url: string): string {
  if (!/^https?:\/\//i.test(url)) return url
  const { host, hash } = new URL(url)
  if (host === '' || hash !== '' || url.endsWith('#')) throw new Error('not the target of a request')
  const target = url.replace(/^https?:\/\/[^/?]*/i, '')
  return target.startsWith('/') ? target : `/${target}`
}
