// Relative references (RFC 3986, section 4.2). Handlers write links relative to the path of their request,
// because a gateway may have removed a prefix from it. Stored responses contain these references.

import { nameIn, pairsOf, queryOf, requestPath } from './request-target.js'

/**
 * Returns the reference from a request to its own path: `pets` for `/v1/pets?limit=2`, and `.` for `/v1/`.
 */
export function selfReference(url: string): string {
  const path = requestPath(url)
  return reference(path.slice(path.lastIndexOf('/') + 1))
}

/**
 * Returns the reference from a request to its own path and query, with other values of some parameters. The
 * rest of the query stays as the client has written it, in whatever style.
 * @param self the reference to the request's own path
 */
export function selfWith(
  url: string,
  self: string,
  values: Readonly<Record<string, string | number | bigint>>,
): string {
  let query = ''
  for (const pair of pairsOf(queryOf(url)))
    if (!Object.hasOwn(values, nameIn(pair))) query += `${encoded(pair)}&`
  for (const name in values)
    query += `${encodeURIComponent(name)}=${encodeURIComponent(String(values[name]))}&`
  return `${self}?${query.slice(0, -1)}`
}

/**
 * Returns the reference from a request to a path below its own: `docs` for `/` and `/api/`, `api/docs` for
 * `/api`.
 */
export function referenceFrom(url: string, below: string): string {
  const self = selfReference(url)
  return self === '.' ? below : `${self}/${below}`
}

/**
 * Returns the path to which a reference leads from the path of a request (RFC 3986, section 5.2):
 * `/v1/pets/7` for `pets/7` from `/v1/pets`. Dots are resolved only at the start of a reference.
 */
export function resolveReference(reference: string, from: string): string {
  if (reference.startsWith('/')) return reference
  if (/^(?:$|[?#])/.test(reference)) return from + reference
  const [dots] = reference.startsWith('.') ? (leadingDots.exec(reference) ?? ['']) : ['']
  let folder = from.slice(0, from.lastIndexOf('/') + 1)
  for (const each of dots.split('/')) if (each === '..') folder = parentOf(folder)
  return folder + reference.slice(dots.length)
}

const leadingDots = /^(?:\.\.?(?:\/|(?=[?#])|$))+/

function parentOf(folder: string): string {
  return folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1)
}

// An empty reference would keep the query of the request, and `a:b` would be a URL with the scheme `a`.
function reference(text: string): string {
  const path = encoded(text)
  if (path === '') return '.'
  return /^(?:\/|[^/]*:)/.test(path) ? `./${path}` : path
}

/** Percent-encodes the characters of a text that a URL, or a `Link`, may not contain. */
export function encoded(text: string): string {
  return text.replace(/[^\w.~!$&'()*+,;=:@%/-]/g, encodeURIComponent)
}
