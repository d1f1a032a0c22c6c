// The target of a request, in the form that the router takes (RFC 9112, section 3.2).

import { isAuthority } from 'contract-engine/lib/origin'
import { requestPath } from 'contract-engine/lib/request-target'

/** The target of a request that has another which cannot be read: no client can send a blank in a target. */
export const malformedTarget = '// '

/**
 * The origin form of a target: that of an absolute one is what follows its host. Fastify runs no hooks for a
 * target that its router cannot read, so a malformed one is replaced by one that no route has: such a request
 * is counted, logged and readable by pages like any other, and admission refuses it.
 */
export function toOriginForm({ url = '' }: { readonly url?: string | undefined }): string {
  if (url.startsWith('/') && !/[%#]/.test(url)) return url
  try {
    const target = url.startsWith('/') ? url : withoutHost(url)
    decodeURI(requestPath(target))
    return target.includes('#') ? malformedTarget : target
  } catch {
    return malformedTarget
  }
}

function withoutHost(url: string): string {
  const [whole, host = ''] = /^https?:\/\/([^/?#]*)/i.exec(url) ?? []
  if (whole === undefined) return url
  if (host === '' || !isAuthority(host)) throw new Error('not the target of a request')
  const target = url.slice(whole.length)
  return target.startsWith('/') ? target : `/${target}`
}
