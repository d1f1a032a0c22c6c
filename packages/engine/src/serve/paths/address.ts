// The URL at which callers reach a server. It is the base of the links that the server sends, and of the
// servers in the contract's files.

import type { IncomingHttpHeaders } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { withoutPrefix } from '../../lib/base-url.js'
import { forwardedScheme, lastOf, originOf } from '../../lib/origin.js'
import { encoded, resolveReference } from '../../lib/relative-references.js'
import { requestPath } from '../../lib/request-target.js'

export interface AddressOptions {
  /**
   * The URL at which callers reach the operations: a gateway may have replaced the prefix of the contract. By
   * default, each request says at which URL its caller reached the server.
   */
  readonly publicUrl?: string | undefined
  /**
   * True if a peer is a proxy whose `X-Forwarded-Proto`, `-Host` and `-Prefix` are trusted. By default, no
   * peer is.
   */
  readonly isProxy?: ((peer: string | undefined) => boolean) | undefined
}

// What a request says about the URL to which it was sent.
interface Claim {
  readonly scheme: 'http' | 'https'
  readonly authority: string | undefined
  readonly prefix: string | undefined
}

export class Address {
  /** The public URL of the operations, if it is known without a request. */
  readonly known: string | undefined
  readonly #knownOrigin: string | undefined
  readonly #root: string
  readonly #segments: number
  readonly #isProxy: (peer: string | undefined) => boolean
  // The last result is kept, because most requests name the same host.
  #last: Claim | undefined
  #lastRoot = ''

  /**
   * @param prefix the prefix of the operations' paths in this server, as `/v1`
   * @param own the prefix of the operations that have servers of their own
   */
  constructor(prefix: string, { publicUrl, isProxy = () => false }: AddressOptions = {}, own = prefix) {
    this.#knownOrigin = publicUrl && new URL(publicUrl).origin
    this.#root = publicUrl === undefined ? '' : (withoutPrefix(publicUrl, prefix) ?? publicUrl)
    this.known = publicUrl === undefined || own === prefix ? publicUrl : this.#root + own
    this.#segments = own.split('/').length
    this.#isProxy = isProxy
  }

  /**
   * Returns the URL of the operations as the caller of one reaches them. If the request names no valid host,
   * it returns the path from the root.
   */
  operationsFor(request: FastifyRequest): string {
    return this.known ?? this.#rootFor(request) + encoded(this.#prefixIn(requestPath(request.url)))
  }

  /**
   * Resolves a reference in a response (RFC 3986, section 5) to a URL. If the request names no valid host, it
   * returns the path from the root. A reference that is a path from the root leads to this server.
   */
  absolute(reference: string, request: FastifyRequest): string {
    if (/^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(reference)) return reference
    const from = encoded(requestPath(request.url))
    const path = resolveReference(reference, from)
    if (this.known === undefined) return this.#rootFor(request) + path
    const prefix = this.#prefixIn(from)
    return isBelow(path, prefix) ? this.known + path.slice(prefix.length) : this.#root + path
  }

  /**
   * True if pages of an origin, as browsers send it, belong to this server, under the host that its caller
   * has used.
   */
  isOrigin(origin: string, request: FastifyRequest): boolean {
    const { scheme, authority = '' } = this.#claimOf(request)
    return origin === originOf(scheme, authority) || origin === this.#knownOrigin
  }

  // Returns the prefix as the caller wrote it: it may be encoded differently, or have parameters.
  #prefixIn(path: string): string {
    let end = -1
    for (let i = 0; i < this.#segments; i++) {
      end = path.indexOf('/', end + 1)
      if (end < 0) return path
    }
    return path.slice(0, end)
  }

  #rootFor(request: FastifyRequest): string {
    const claim = this.#claimOf(request)
    if (!isSame(claim, this.#last)) {
      this.#lastRoot = rootOf(claim)
      this.#last = claim
    }
    return this.#lastRoot
  }

  #claimOf({ raw, originalUrl }: FastifyRequest): Claim {
    const { headers, socket } = raw
    const { 'x-forwarded-proto': scheme, 'x-forwarded-host': host, 'x-forwarded-prefix': prefix } = headers
    const own = {
      scheme: (socket as Partial<TLSSocket>).encrypted ? 'https' : 'http',
      authority: authorityOf(originalUrl, headers),
      prefix: undefined,
    } as const
    const isForwarded = scheme !== undefined || host !== undefined || prefix !== undefined
    if (!isForwarded || !this.#isProxy(socket.remoteAddress)) return own
    return {
      scheme: forwardedScheme(headers) ?? own.scheme,
      authority: lastOf(host) || own.authority,
      prefix: lastOf(prefix),
    }
  }
}

/**
 * Returns the address of a contract's operations in a server.
 * @param own the prefix of the operations, if they have servers of their own
 */
export function addressOf(
  app: FastifyInstance,
  { prefix }: Contract,
  options?: AddressOptions,
  own = prefix,
): Address {
  const outer = app.prefix.replace(/\/$/, '')
  return new Address(outer + prefix, options, outer + own)
}

function isBelow(path: string, prefix: string): boolean {
  const next = path[prefix.length]
  return path.startsWith(prefix) && (next === undefined || '/?#'.includes(next))
}

function isSame(a: Claim, b: Claim | undefined): boolean {
  return a.authority === b?.authority && a.prefix === b?.prefix && a.scheme === b?.scheme
}

function rootOf({ scheme, authority = '', prefix }: Claim): string {
  return (originOf(scheme, authority) ?? '') + pathOf(prefix)
}

// The host of an absolute target counts, not `Host` (RFC 9112, section 3.2.2). An HTTP/2 request may have no
// `Host`.
function authorityOf(target: string, headers: IncomingHttpHeaders): string | undefined {
  if (target.startsWith('/')) return headers.host ?? lastOf(headers[':authority'])
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]
}

const prefixMax = 255
const segments = /^(?:[\w.~!$&'()*+,;=:@-]|%[\da-f]{2}|\/(?!\/))*$/i

// Returns the path of a forwarded prefix in serialized form. Slashes at its ends are removed, because two
// would begin a host. A text that is no path is ignored.
function pathOf(prefix = ''): string {
  if (prefix.length > prefixMax || !segments.test(prefix)) return ''
  const { pathname } = new URL(`http://a/${prefix}`)
  const inner = pathname.split('/').filter((each) => each !== '')
  return inner.map((each) => `/${each}`).join('')
}
