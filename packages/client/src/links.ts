// The `Link` header (RFC 8288), and the link to the next page.

import { unexpected } from './response-body.js'
import type { CalledOperation } from './table.js'

/** Returns the target of the link with a relation, unresolved. */
export function linkTo(relation: string, header: string | null): string | undefined {
  // Targets contain no angle brackets, and quoted values may contain commas.
  for (const [, target, parameters = ''] of (header ?? '').matchAll(link)) {
    const found = [...parameters.matchAll(parameter)].find(([, name]) => name?.toLowerCase() === 'rel')
    const [, , quoted, bare = ''] = found ?? []
    if ((quoted ?? bare).toLowerCase().split(/\s+/).includes(relation)) return target
  }
  return undefined
}

const link = /<([^<>]*)>((?:"(?:[^"\\]|\\.)*"|[^",<])*)/g
const parameter = /;\s*([^\s;=,"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))/g

/**
 * Resolves a link of a response, as `targetOf` does.
 * @throws {ApiError} `unexpected_answer` if the link leads out of the base URL
 */
export function resolveLink(
  target: string,
  response: Response,
  baseUrl: string,
  operation: CalledOperation,
): string {
  const resolved = targetOf(target, response, baseUrl)
  if (resolved !== undefined) return resolved
  const href = URL.canParse(target, response.url) ? new URL(target, response.url).href : target
  const message = `The next page, ${href}, is not under ${baseUrl}.`
  throw unexpected(message, operation, response)
}

/**
 * Resolves a link of a response against the URL of its request (RFC 3986, section 5.1.3). The client follows
 * it with the key, so the result is undefined if the link leads out of the base URL. But a service that has
 * several names may know only one of them. So a link elsewhere that ends with the path of the request leads
 * to that path at the base URL.
 */
export function targetOf(target: string, response: Response, baseUrl: string): string | undefined {
  const base = new URL(baseUrl)
  const basePath = base.pathname.replace(/\/+$/, '')
  const url = URL.canParse(target, response.url) ? new URL(target, response.url) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    if (url.origin === base.origin && `${url.pathname}/`.startsWith(`${basePath}/`)) return url.href
    const own = new URL(response.url).pathname.slice(basePath.length)
    if (own.length > 1 && url.pathname.endsWith(own)) return `${base.origin}${basePath}${own}${url.search}`
  }
  return undefined
}
