// Reads the credential of a scheme from a request. An ambiguous credential belongs to nobody: a proxy in
// front of the server may have read it differently.

import type { FastifyRequest } from 'fastify'
import { type CredentialPlace, headerOf } from '../../document/security.js'
import { decode, nameIn, pairsOf } from '../../lib/request-target.js'
import { capitalized, splitPair } from '../../lib/texts.js'
import { decodeCookie, sentCookies } from '../request/cookies.js'
import { withoutBlanks } from '../request/parameter-text.js'
import { sentQueryKeys } from '../request/query-keys.js'
import type { Credential, UsernamePassword } from './check.js'

/** Stands for a credential that cannot be read, or was sent twice. */
export const malformed: unique symbol = Symbol('openapi.malformedCredential')

/** What a request has in the place of a scheme: a credential, a malformed one, or nothing. */
export type SentCredential = Credential | typeof malformed | undefined

/** Reads a credential, in time linear in the length of the part of the request that has it. */
export type ReadCredential = (request: FastifyRequest) => SentCredential

/** Returns the function that reads the credentials sent in a place. */
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

// Counts in the raw headers, because Node keeps only the first `Authorization`, and joins most other headers.
function isSentOnce({ raw: { rawHeaders } }: FastifyRequest, header: string): boolean {
  let times = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === header.length && name.toLowerCase() === header) times++
  }
  return times < 2
}

// Such a header has the name of the scheme in any case, spaces, and the credentials (RFC 9110, section 11.4).
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
  // A text with a blank is no bearer token (RFC 6750, section 2.1).
  ['bearer', (token) => (token.includes(' ') || token.includes('\t') ? undefined : token)],
  ['basic', readBasic],
])

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// Reads base64 of a name, a colon and a password, neither with control characters (RFC 7617, section 2). Node
// decodes base64 leniently, and ignores text after the padding, for example; encoding the bytes again finds
// such text.
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

// A query is a form, so names are encoded as well as values.
function queryValues(query: string, name: string): (string | undefined)[] {
  const own = pairsOf(query).filter((pair) => nameIn(pair) === name)
  return own.map((pair) => decode(splitPair(pair)[1]))
}

// A check gets no value that a parameter could not have.
function only(values: readonly (string | undefined)[]): SentCredential {
  if (values.length === 0) return undefined
  const [value] = values
  if (values.length > 1 || value === undefined || value.includes('\0')) return malformed
  return value || undefined
}
