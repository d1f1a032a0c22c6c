// Brings the target of a request into the form that the router takes (RFC 9112, section 3.2).

import { isAuthority } from 'contract-engine/lib/origin'
import { requestPath } from 'contract-engine/lib/request-target'

/** Stands for a target that cannot be read. No client can send it, because it has a blank. */
export const malformedTarget = '// '

/**
 * Returns the origin form of a target: for an absolute URL, the part after the host. Returns
 * `malformedTarget` for one that the router cannot read. Fastify would run no hooks for it; this way, the
 * request is counted, logged and readable by pages like any other, and admission refuses it.
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
