// Relative references (RFC 3986, section 4.2) for the links of responses. A gateway may strip a prefix from a
// path, or put its own in place of the contract's, and the service cannot know: a reference that is relative
// to the URL of the request is right behind any gateway.

import { requestPath } from './request-path.js'

/** The reference from a request to its own path: `pets` for `/v1/pets?limit=2`, and `.` for `/v1/`. */
export function selfReference(url: string): string {
  const path = requestPath(url)
  return reference(path.slice(path.lastIndexOf('/') + 1))
}

/**
 * The reference from a request to its own path and query, with other values of some parameters. The rest of
 * the query stays as the client has written it, in whatever style.
 * @param self the reference to its own path
 */
export function selfWith(
  url: string,
  self: string,
  values: Readonly<Record<string, string | number | bigint>>,
): string {
  const start = url.indexOf('?') + 1
  let query = ''
  for (const pair of start === 0 ? [] : url.slice(start).split('&'))
    if (pair !== '' && !Object.hasOwn(values, nameOf(pair))) query += `${encoded(pair)}&`
  for (const name in values)
    query += `${encodeURIComponent(name)}=${encodeURIComponent(String(values[name]))}&`
  return `${self}?${query.slice(0, -1)}`
}

function nameOf(pair: string): string {
  const end = pair.indexOf('=')
  const name = end < 0 ? pair : pair.slice(0, end)
  return name.includes('%') ? decodeURIComponent(name) : name
}

/**
 * The reference from a request to a path below its own: `docs` for `/` and `/api/`, `api/docs` for `/api`.
 */
export function referenceFrom(url: string, below: string): string {
  const self = selfReference(url)
  return self === '.' ? below : `${self}/${below}`
}

/** The reference from one path of the contract to another: `../pets` from `/pets/{petId}` to `/pets`. */
export function referenceTo(path: string, from: string): string {
  const depth = from.split('/').length - 2
  return reference('../'.repeat(depth) + path.slice(1))
}

// An empty reference would keep the query of the request, and `a:b` would be a URL with the scheme `a`.
function reference(text: string): string {
  const path = encoded(text)
  if (path === '') return '.'
  return /^(?:\/|[^/]*:)/.test(path) ? `./${path}` : path
}

function encoded(text: string): string {
  return text.replace(/[^\w.~!$&'()*+,;=:@%/-]/g, encodeURIComponent)
}
