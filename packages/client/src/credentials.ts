// The credentials of a client, by the security scheme that each is for, and which of them a request has.

import type { Outgoing } from './outgoing.js'
import { pageOrigin } from './platform.js'
import type { CalledOperation, ClientScheme, ClientTable } from './table.js'

/** The credential of HTTP Basic (RFC 7617). */
export interface UsernamePassword {
  readonly username: string
  readonly password: string
}

/** A credential, or what returns it, at once or later. */
export type GivenCredential<Credential> = Credential | (() => Credential | Promise<Credential>)

export type GivenKey = GivenCredential<string>

/** The credentials of a client or of a call, as its options have them. */
export interface GivenCredentials {
  readonly key?: GivenKey | undefined
  readonly security?:
    | { readonly [Scheme in string]?: GivenCredential<string | UsernamePassword> | undefined }
    | undefined
}

/** The name of the only scheme of a contract, if its credential is a text. */
type KeyScheme<Schemes> = {
  [Name in keyof Schemes]: keyof Schemes extends Name
    ? Schemes[Name] extends string | undefined
      ? Name
      : never
    : never
}[keyof Schemes]

/** How the credentials of a contract's schemes are given. */
export type CredentialOptions<Schemes> = [KeyScheme<Required<Schemes>>] extends [never]
  ? SecurityOption<Schemes>
  : object extends Schemes
    ? Partial<KeyOption>
    : KeyOption

interface KeyOption {
  /** The API key or token, without the whitespace around it, or what returns it, called at each attempt. */
  readonly key: GivenKey
}

interface SecurityOption<Schemes> {
  /**
   * The credential of each security scheme that you have one for, or what returns it, called at each attempt
   * that sends it.
   */
  readonly security?:
    | { readonly [Name in keyof Schemes]?: GivenCredential<NonNullable<Schemes[Name]>> | undefined }
    | undefined
}

/** A credential as a request has it: the value of a header, of a parameter or of a cookie. */
export interface SentCredential {
  readonly scheme: ClientScheme
  readonly text: string
}

/** What returns each credential, checked, by the name of its scheme. */
export type Credentials = ReadonlyMap<string, () => Promise<SentCredential>>

type Schemes = Pick<ClientTable, 'securitySchemes'>

/**
 * Reads credentials. What a function returns is checked at each attempt.
 * @throws {TypeError} if one is of no scheme of the contract, or cannot be sent
 */
export function readCredentials({ securitySchemes }: Schemes, given: GivenCredentials): Credentials {
  const { key, security = {} } = given
  if (typeof security !== 'object' || security === null)
    throw new TypeError('security must be an object with a credential for each scheme')
  const names = Object.keys(securitySchemes).join(', ') || 'none'
  const credentials = new Map<string, () => Promise<SentCredential>>()
  for (const [name, credential] of Object.entries(security)) {
    const scheme = Object.hasOwn(securitySchemes, name) ? securitySchemes[name] : undefined
    if (scheme === undefined) throw new TypeError(`security: no scheme is called ${name}, but ${names}`)
    if (credential !== undefined)
      credentials.set(name, readCredential(`security.${name}`, credential, scheme))
  }
  if (key === undefined) return credentials
  const [only] = keySchemeOf(securitySchemes) ?? []
  if (only === undefined)
    throw new TypeError(`key is for a contract with one scheme: give security, by the names ${names}`)
  return credentials.set(only, readCredential('key', key, securitySchemes[only] as ClientScheme))
}

/** The scheme of a `key`: the only one of the contract, unless it needs a name and a password. */
export function keySchemeOf(
  securitySchemes: ClientTable['securitySchemes'],
): readonly [name: string, scheme: ClientScheme] | undefined {
  const [only, ...others] = Object.entries(securitySchemes)
  return others.length === 0 && only !== undefined && !isBasic(only[1]) ? only : undefined
}

function readCredential(at: string, given: unknown, scheme: ClientScheme): () => Promise<SentCredential> {
  const written = (credential: unknown) => ({ scheme, text: credentialText(at, credential, scheme) })
  if (typeof given === 'function') return async () => written(await given())
  const fixed = written(given)
  return async () => fixed
}

function isBasic({ in: location, name }: ClientScheme): boolean {
  return location === 'authorization' && name === 'basic'
}

// Without the checks an unset variable would be sent as `undefined`, and fetch's error for an invalid header
// would contain the credential.
function credentialText(at: string, credential: unknown, scheme: ClientScheme): string {
  if (isBasic(scheme)) return `Basic ${basic(at, credential)}`
  const text = typeof credential === 'string' ? credential.trim() : undefined
  const { in: location, name } = scheme
  // A key may be in words: `Token abc`, as the value of a header.
  if (location === 'authorization' && name === 'bearer') {
    if (text !== undefined && /^[!-~]*$/.test(text)) return `Bearer ${text}`
    throw new TypeError(`${at} must be a string of printable ASCII characters without spaces`)
  }
  if (text === undefined || !/^[ -~]*$/.test(text))
    throw new TypeError(`${at} must be a string of printable ASCII characters`)
  return location === 'authorization' ? `${name.charAt(0).toUpperCase()}${name.slice(1)} ${text}` : text
}

// RFC 7617, section 2: a name has no colon, and neither has control characters.
function basic(at: string, credential: unknown): string {
  const { username, password } = (credential ?? {}) as Partial<Record<keyof UsernamePassword, unknown>>
  if (typeof username !== 'string' || typeof password !== 'string')
    throw new TypeError(`${at} must have a username and a password`)
  if (username.includes(':') || /[\p{Cc}\p{Surrogate}]/u.test(username + password))
    throw new TypeError(`${at} must have no control characters, and no colon in its username`)
  const bytes = new TextEncoder().encode(`${username}:${password}`)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/**
 * The names of the schemes whose credentials a request has: those of the first alternative of the operation
 * for which all are known. None, if the operation needs none and none of its alternatives is known.
 * @throws {TypeError} if the operation needs credentials, and no alternative has them all
 */
export function schemesFor({ id, security = [] }: CalledOperation, known: Credentials): readonly string[] {
  const needing = security.filter((each) => each.length > 0)
  const met = needing.find((each) => each.every((name) => known.has(name)))
  if (met !== undefined || needing.length < security.length || needing.length === 0) return met ?? []
  if (pageOrigin() !== undefined) return [] // a cookie of the page may do
  const needs = needing.map((each) => each.join(' and ')).join(', or ')
  throw new TypeError(`${id} needs credentials that were not given: security of ${needs}`)
}

/** Asks for the credentials of schemes, each once. */
export function credentialsOf(names: readonly string[], known: Credentials): Promise<SentCredential[]> {
  return Promise.all(names.flatMap((name) => known.get(name)?.() ?? []))
}

/** A URL without the keys that schemes put into its query. */
export function withoutKeys(url: string, schemes: readonly ClientScheme[]): string {
  const names = new Set(schemes.flatMap((each) => (each.in === 'query' ? each.name : [])))
  const start = url.indexOf('?') + 1
  if (names.size === 0 || start === 0) return url
  const kept = url
    .slice(start)
    .split('&')
    .filter((pair) => !names.has(nameIn(pair)))
  return kept.length === 0 ? url.slice(0, start - 1) : `${url.slice(0, start)}${kept.join('&')}`
}

/** The name in a pair of a query, as the service reads it. */
export function nameIn(pair: string): string {
  const [name = ''] = pair.replaceAll('+', ' ').split('=', 1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** The URL and the headers of a request, with credentials. One that is there already is replaced. */
export function withCredentials(
  request: Pick<Outgoing, 'url' | 'headers'>,
  sent: readonly SentCredential[],
): Pick<Outgoing, 'url' | 'headers'> {
  const headers = new Headers(request.headers)
  for (const { scheme, text } of sent) {
    if (scheme.in === 'cookie') addCookie(headers, scheme.name, text)
    else if (scheme.in !== 'query')
      headers.set(scheme.in === 'authorization' ? 'Authorization' : scheme.name, text)
  }
  return { url: withQuery(request.url, sent), headers }
}

// Browsers ignore the header and send their own cookies.
function addCookie(headers: Headers, name: string, text: string): void {
  const others = headers.get('Cookie')
  const own = `${name}=${encodeURIComponent(text)}`
  headers.set('Cookie', others === null ? own : `${others}; ${own}`)
}

function withQuery(asked: string, sent: readonly SentCredential[]): string {
  const pairs = sent.flatMap(({ scheme, text }) =>
    scheme.in === 'query' ? `${encodeURIComponent(scheme.name)}=${encodeURIComponent(text)}` : [],
  )
  if (pairs.length === 0) return asked
  const url = withoutKeys(
    asked,
    sent.map(({ scheme }) => scheme),
  )
  return `${url}${url.includes('?') ? '&' : '?'}${pairs.join('&')}`
}

/**
 * Whether `fetch` may follow a redirect: at another origin it leaves out `Authorization` alone, and would
 * send a key in another header along.
 */
export function staysWhenRedirected({ scheme }: SentCredential): boolean {
  return scheme.in === 'header' || scheme.in === 'cookie'
}
