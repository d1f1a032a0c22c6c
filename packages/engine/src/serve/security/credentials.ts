// Reads the credential of a scheme from a request. What is ambiguous is no credential of anybody: a proxy in
// front of the server may have read the other one.

import type { FastifyRequest } from 'fastify'
import { type CredentialPlace, headerOf } from '../../document/security.js'
import { decode, nameIn, pairsOf } from '../../lib/request-target.js'
import { capitalized, splitPair } from '../../lib/texts.js'
import { decodeCookie, sentCookies } from '../request/cookies.js'
import { withoutBlanks } from '../request/parameter-text.js'
import { sentQueryKeys } from '../request/query-keys.js'
import type { Credential, UsernamePassword } from './check.js'

/** A credential that was sent and cannot be read, or that was sent twice. */
export const malformed: unique symbol = Symbol('openapi.malformedCredential')

/** What a request has in the place of a scheme: nothing, or a credential. */
export type SentCredential = Credential | typeof malformed | undefined

/** Reads a credential. Takes a time that is linear in the part of the request that it is in. */
export type ReadCredential = (request: FastifyRequest) => SentCredential

/** The function that reads the credentials that are sent in a place. */
export function credentialReader(place: CredentialPlace): ReadCredential {
  const { in: location, name } = place
  if (location === 'query') return (request) => only(queryValues(sentQueryKeys(request), name))
  if (location === 'cookie')
    return (request) => only((sentCookies(request).get(name) ?? []).map(decodeCookie))
  const header = headerOf(place) as string
  const parse = location === 'header' ? (text: string) => text || undefined : authorizationReader(name)
  return (request) => {
    const text = request.headers[header]
    if (text === undefined) return undefined
    return typeof text === 'string' && isSentOnce(request, header) ? parse(text) : malformed
  }
}

// Of `Authorization`, Node keeps the first; of most other headers, it joins all.
function isSentOnce({ raw: { rawHeaders } }: FastifyRequest, header: string): boolean {
  let times = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === header.length && name.toLowerCase() === header) times++
  }
  return times < 2
}

// RFC 9110, section 11.4: the name of the scheme in any case, spaces, and its credentials.
function authorizationReader(scheme: string): (text: string) => SentCredential {
  const parse = parsers.get(scheme) ?? ((credentials: string) => credentials)
  const usual = `${capitalized(scheme)} `
  return (text) => {
    const isOfScheme = text.startsWith(usual) || isScheme(text, scheme)
    if (!isOfScheme) return undefined
    const credentials = withoutBlanks(text.slice(scheme.length))
    return credentials === '' ? undefined : parse(credentials)
  }
}

function isScheme(text: string, scheme: string): boolean {
  return text[scheme.length] === ' ' && text.slice(0, scheme.length).toLowerCase() === scheme
}

const parsers = new Map<string, (credentials: string) => SentCredential>([
  // RFC 6750, section 2.1: with a blank, that is no bearer token.
  ['bearer', (token) => (token.includes(' ') || token.includes('\t') ? undefined : token)],
  ['basic', readBasic],
])

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// RFC 7617, section 2: base64 of a name, a colon and a password, neither with control characters. What Node
// decodes leniently, such as text behind the padding, is written otherwise.
function readBasic(credentials: string): UsernamePassword | typeof malformed {
  const bytes = Buffer.from(credentials, 'base64')
  if (bytes.toString('base64') !== credentials) return malformed
  try {
    const text = utf8.decode(bytes)
    const colon = text.indexOf(':')
    if (colon < 0 || /\p{Cc}/u.test(text)) return malformed
    return { username: text.slice(0, colon), password: text.slice(colon + 1) }
  } catch {
    return malformed
  }
}

// A query is a form, so its names are encoded as well as its values.
function queryValues(query: string, name: string): (string | undefined)[] {
  const own = pairsOf(query).filter((pair) => nameIn(pair) === name)
  return own.map((pair) => decode(splitPair(pair)[1]))
}

// What no parameter could be, no check gets.
function only(values: readonly (string | undefined)[]): SentCredential {
  if (values.length === 0) return undefined
  const [value] = values
  if (values.length > 1 || value === undefined || value.includes('\0')) return malformed
  return value || undefined
}
