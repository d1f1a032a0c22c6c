// The public keys of an OpenID issuer: finds them by its discovery document, remembers them, and follows
// rotations. If the issuer is unreachable, slow or broken, the error is 503 and never 401, because its tokens
// must not be reported as invalid. jose's own reader knows no discovery document and no limit of size, and
// asks a broken issuer for each request.

import { setTimeout as delay } from 'node:timers/promises'
import { RequestError } from 'contract-engine'
import { type CryptoKey, createLocalJWKSet, errors, type JWK, type JWSHeaderParameters } from 'jose'
import type { Logger } from 'pino'
import { elapsedMs } from '../lib/clock.js'
import { fetchJson } from '../lib/fetch-json.js'
import { readTrustedUrl } from '../lib/issuer-url.js'
import { singleFlight } from '../lib/shared-calls.js'
import { unavailable, unavailableToGuess } from '../middleware/unavailable.js'

type FindKey = ReturnType<typeof createLocalJWKSet>

interface KeySet {
  readonly find: FindKey
  readonly readAt: number
}

/** How long to use fetched keys, and to remember tokens that were verified with them. */
export const refreshMs = 300_000
// How long to use the last keys while the issuer does not answer.
const keySetAgeMaxMs = 86_400_000
// The pause between two attempts at an issuer that failed, as `Retry-After` says, and between two searches
// for an unknown key: whoever sends forged tokens, the issuer is asked once a second.
const pauseMs = 1_000
// For both documents together. Besides the pause, no request waits longer.
const loadTimeoutMs = 5_000
// For each document. Issuers that repeat certificates in their keys send some 20,000 characters.
const charactersMax = 262_144
const shownMax = 200
// The most keys to try for a header that names none (RFC 7515, section 4.1.4): each costs the check of a
// signature.
const candidatesMax = 10

/** Runs work that waits for the issuer, in a slot. */
type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * The keys of an issuer. The service fetches them if they are missing or old, or if a token needs an unknown
 * one, but never for each request.
 */
export class Issuer {
  #jwksUrl: URL | undefined
  #keySet: KeySet | undefined
  #failure: { readonly error: Error; readonly at: number } | undefined
  #searchedAt = Number.NEGATIVE_INFINITY
  #nextSearch: Promise<KeySet> | undefined
  #inFlight: Promise<KeySet> | undefined
  readonly #fetch = singleFlight(() => this.#fetchKeySet())

  /**
   * @param url the issuer as tokens name it
   * @param wait default: runs the work without a slot
   */
  constructor(
    readonly url: string,
    readonly log: Pick<Logger, 'info' | 'warn'>,
    readonly wait: Wait = (work) => work(),
  ) {}

  /** Fetches the keys early, so that the first request does not wait, and the log shows what is wrong. */
  prepare(): void {
    this.#load().catch(() => {}) // logged
  }

  /**
   * Returns the keys that may have signed a token with this header.
   * @throws {RequestError} 503 if the issuer does not answer
   * @throws {JOSEError} if the issuer has no such key
   */
  async findKeys(header: JWSHeaderParameters): Promise<readonly CryptoKey[]> {
    const found = await candidates(await this.#current(), header)
    return found.length > 0 ? found : this.findNewerKeys(header)
  }

  /**
   * Does as `findKeys`, with keys that are fetched after the token has arrived. No known key has signed the
   * token, so it is either forged or the first after a rotation; a valid token must not be refused.
   */
  async findNewerKeys(header: JWSHeaderParameters): Promise<readonly CryptoKey[]> {
    const found = await candidates(await this.wait(() => this.#search().catch(asOfGuess)), header)
    if (found.length === 0) throw new errors.JWKSNoMatchingKey()
    return found
  }

  #search(): Promise<KeySet> {
    this.#nextSearch ??= this.#loadAfterPause()
    return this.#nextSearch
  }

  async #loadAfterPause(): Promise<KeySet> {
    await delay(Math.max(0, this.#searchedAt + pauseMs - elapsedMs()))
    await this.#inFlight?.catch(() => {}) // that fetch may have begun before the token arrived
    this.#nextSearch = undefined
    this.#searchedAt = elapsedMs()
    return this.#load()
  }

  // While the issuer is known to fail, a request does not wait for its next failure.
  async #current(): Promise<KeySet> {
    const keySet = this.#keySet
    if (keySet === undefined || !isWithin(keySetAgeMaxMs, keySet.readAt)) return this.wait(() => this.#load())
    if (isWithin(refreshMs, keySet.readAt)) return keySet
    this.#jwksUrl = undefined // the keys may have moved while the old address still responds
    if (this.#failure === undefined) return this.wait(() => this.#load()).catch(() => keySet)
    this.#load().catch(() => {}) // logged
    return keySet
  }

  async #load(): Promise<KeySet> {
    if (this.#failure !== undefined && isWithin(pauseMs, this.#failure.at))
      throw unavailable(this.#failure.error)
    this.#inFlight = this.#fetch()
    try {
      return await this.#inFlight
    } catch (error) {
      throw unavailable(error)
    }
  }

  async #fetchKeySet(): Promise<KeySet> {
    const readAt = elapsedMs() // before the fetch, because its result may be outdated when it arrives
    const limits = { signal: AbortSignal.timeout(loadTimeoutMs), charactersMax }
    try {
      this.#jwksUrl ??= jwksUrlOf(await fetchJson(discoveryUrl(this.url), limits), this.url)
      this.#keySet = { find: readKeySet(await fetchJson(this.#jwksUrl, limits)), readAt }
    } catch (error) {
      this.#fail(error as Error)
      throw error
    }
    if (this.#failure !== undefined) this.log.info({ issuer: this.url }, 'issuer works again')
    this.#failure = undefined
    return this.#keySet
  }

  #fail(error: Error): void {
    if (this.#failure === undefined)
      this.log.warn({ issuer: this.url, reason: error.message }, 'issuer unavailable')
    this.#failure = { error, at: elapsedMs() }
    this.#jwksUrl = undefined
  }
}

function isWithin(ms: number, since: number): boolean {
  return elapsedMs() - since < ms
}

// OpenID Connect Discovery 1.0, section 4: removes a slash at the end of the issuer, then appends the path.
function discoveryUrl(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

// Section 4.3: the document must name the issuer. Otherwise another issuer could have its own tokens
// accepted.
function jwksUrlOf(discovered: unknown, issuer: string): URL {
  const { issuer: named, jwks_uri: text } = Object(discovered) as Record<string, unknown>
  if (named !== issuer) throw new Error(`the discovery document is of the issuer ${shown(named)}`)
  const url = readTrustedUrl(text)
  const isDowngrade = url?.protocol === 'http:' && issuer.startsWith('https:')
  if (url === undefined || isDowngrade) throw new Error(`jwks_uri must be an https URL, not ${shown(text)}`)
  return url
}

// Ignores entries that are no keys (RFC 7517, section 5). If none is left, this is an error: otherwise every
// token would be reported as invalid.
function readKeySet(value: unknown): FindKey {
  const { keys: all } = Object(value) as { keys?: unknown }
  if (!Array.isArray(all)) throw new Error('the keys of the issuer are no list')
  const keys = all.filter((each): each is JWK => Object(each) === each && !Array.isArray(each))
  if (keys.length === 0) throw new Error('the issuer has no keys')
  return createLocalJWKSet({ keys })
}

/**
 * Returns the keys of a set that may have signed a token: several if its header names none, or if a name is
 * published twice. Among several, skips keys that cannot be used.
 */
async function candidates({ find }: KeySet, header: JWSHeaderParameters): Promise<CryptoKey[]> {
  try {
    return [await find(header)]
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return []
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    const keys: CryptoKey[] = []
    for await (const key of error) if (keys.push(key) === candidatesMax) break
    if (keys.length === 0)
      throw new errors.JWKSInvalid('none of the keys that may have signed it can be used')
    return keys
  }
}

function asOfGuess(error: unknown): never {
  throw error instanceof RequestError ? unavailableToGuess(error.options.cause) : error
}

function shown(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, shownMax)
}
