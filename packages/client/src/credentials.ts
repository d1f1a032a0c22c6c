// The credentials of a client, each for a security scheme, and the choice of those that a request sends.

import type { Outgoing } from './outgoing.js'
import { pageOrigin } from './platform.js'
import type { CalledOperation, ClientScheme, ClientTable } from './table.js'

/** The credential of HTTP Basic (RFC 7617). */
export interface UsernamePassword {
  readonly username: string
  readonly password: string
}

/** A credential, or a function that returns it, or a promise of it. */
export type GivenCredential<Credential> = Credential | (() => Credential | Promise<Credential>)

export type GivenKey = GivenCredential<string>

/** The credentials of a client or of a call, as its options contain them. */
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

/** The options for the credentials of a contract's schemes. */
export type CredentialOptions<Schemes> = [KeyScheme<Required<Schemes>>] extends [never]
  ? SecurityOption<Schemes>
  : object extends Schemes
    ? Partial<KeyOption>
    : KeyOption

interface KeyOption {
  /**
   * The API key or token, or a function that returns it, which is called at each attempt. Whitespace around
   * it is removed.
   */
  readonly key: GivenKey
}

interface SecurityOption<Schemes> {
  /**
   * The credential of each security scheme for which you have one, or a function that returns it, which is
   * called at each attempt that sends it.
   */
  readonly security?:
    | { readonly [Name in keyof Schemes]?: GivenCredential<NonNullable<Schemes[Name]>> | undefined }
    | undefined
}

/** A credential as a request sends it: the value of a header, of a parameter or of a cookie. */
export interface SentCredential {
  readonly scheme: ClientScheme
  readonly text: string
}

/** Functions that return each credential, checked, by the name of its scheme. */
export type Credentials = ReadonlyMap<string, () => Promise<SentCredential>>

type Schemes = Pick<ClientTable, 'securitySchemes'>

/**
 * Reads credentials. The result of a function is checked at each attempt.
 * @throws {TypeError} if a credential is for no scheme of the contract, or cannot be sent
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

/** Returns the scheme of a `key`: the only scheme of the contract, unless it needs a name and a password. */
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

// Without these checks, an unset variable would be sent as `undefined`, and the error of `fetch` for an
// invalid header would contain the credential.
function credentialText(at: string, credential: unknown, scheme: ClientScheme): string {
  if (isBasic(scheme)) return `Basic ${basic(at, credential)}`
  const text = typeof credential === 'string' ? credential.trim() : undefined
  const { in: location, name } = scheme
  // A key may consist of words, as the value of a header: `Token abc`.
  if (location === 'authorization' && name === 'bearer') {
    if (text !== undefined && /^[!-~]*$/.test(text)) return `Bearer ${text}`
    throw new TypeError(`${at} must be a string of printable ASCII characters without spaces`)
  }
  if (text === undefined || !/^[ -~]*$/.test(text))
    throw new TypeError(`${at} must be a string of printable ASCII characters`)
  return location === 'authorization' ? `${name.charAt(0).toUpperCase()}${name.slice(1)} ${text}` : text
}

// A name has no colon, and neither a name nor a password has control characters (RFC 7617, section 2).
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
 * Returns the names of the schemes whose credentials a request sends: those of the operation's first
 * alternative for which all credentials are known. It returns none if no alternative is known and the
 * operation also accepts requests without credentials.
 * @throws {TypeError} if the operation needs credentials, and they are known for none of its alternatives
 */
export function schemesFor({ id, security = [] }: CalledOperation, known: Credentials): readonly string[] {
  const needing = security.filter((each) => each.length > 0)
  const met = needing.find((each) => each.every((name) => known.has(name)))
  if (met !== undefined || needing.length < security.length || needing.length === 0) return met ?? []
  if (pageOrigin() !== undefined) return [] // a cookie of the page may be the credential
  const needs = needing.map((each) => each.join(' and ')).join(', or ')
  throw new TypeError(`${id} needs credentials that were not given: security of ${needs}`)
}

/** Returns the credentials of schemes; asks for each once. */
export function credentialsOf(names: readonly string[], known: Credentials): Promise<SentCredential[]> {
  return Promise.all(names.flatMap((name) => known.get(name)?.() ?? []))
}

/** Returns a URL without the keys that schemes put into its query. */
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

/** Returns the name in a pair of a query, as the service reads it. */
export function nameIn(pair: string): string {
  const [name = ''] = pair.replaceAll('+', ' ').split('=', 1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Returns the URL and the headers of a request, with credentials in place of those that it may have. */
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

// Browsers ignore this header and send their own cookies.
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
 * True if `fetch` must not follow a redirect: at another origin, it leaves out only `Authorization`, and
 * would send a key in another header.
 */
export function staysWhenRedirected({ scheme }: SentCredential): boolean {
  return scheme.in === 'header' || scheme.in === 'cookie'
}
