// The public keys of an OpenID issuer: found by its discovery document, remembered, and rotated. If the
// issuer is unreachable, slow or broken, the error is 503 and never 401: its tokens must not be reported as
// invalid. jose's reader of keys knows no discovery document, has no limit of size, and asks an issuer that
// is down for each request.

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

/** How long fetched keys are used, and what was verified by them is remembered. */
export const refreshMs = 300_000
// While the issuer cannot be asked, the last keys are used for as long.
const keySetAgeMaxMs = 86_400_000
// Between two attempts at an issuer that failed, which `Retry-After` says, and between two searches for a key
// that it may have begun to use: whoever sends unknown ones, it is asked once a second.
const pauseMs = 1_000
// Of both documents together. No request waits longer, but for the pause.
const loadTimeoutMs = 5_000
// Of each. Issuers that repeat certificates in their keys send some 20,000.
const charactersMax = 262_144
const shownMax = 200
// Of a header, which may name none (RFC 7515, section 4.1.4). Each costs a token that is forged a signature.
const candidatesMax = 10

/** Runs what waits for the issuer, in a slot. */
type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * The keys of an issuer. They are fetched when they are missing, old, or lack one; never for each request.
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
   * @param url as tokens name it
   * @param wait by default in no slot
   */
  constructor(
    readonly url: string,
    readonly log: Pick<Logger, 'info' | 'warn'>,
    readonly wait: Wait = (work) => work(),
  ) {}

  /** Fetches the keys, so that the first request need not wait, and the log says what is wrong. */
  prepare(): void {
    this.#load().catch(() => {}) // logged
  }

  /**
   * The keys that may have signed a token with this header.
   * @throws {RequestError} 503 if the issuer cannot be asked
   * @throws {JOSEError} if it has no such key
   */
  async findKeys(header: JWSHeaderParameters): Promise<readonly CryptoKey[]> {
    const found = await candidates(await this.#current(), header)
    return found.length > 0 ? found : this.findNewerKeys(header)
  }

  /**
   * The same, of keys that are fetched after a token has come: none that is known has signed it, so it is
   * forged, or the first after a rotation, and no valid one is to be refused.
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
    await this.#inFlight?.catch(() => {}) // it may have begun before the token came
    this.#nextSearch = undefined
    this.#searchedAt = elapsedMs()
    return this.#load()
  }

  // While the issuer is known to fail, a request does not wait for its next failure.
  async #current(): Promise<KeySet> {
    const keySet = this.#keySet
    if (keySet === undefined || !isWithin(keySetAgeMaxMs, keySet.readAt)) return this.wait(() => this.#load())
    if (isWithin(refreshMs, keySet.readAt)) return keySet
    this.#jwksUrl = undefined // it may have moved, and its former place still respond
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
    const readAt = elapsedMs() // before the fetch, whose result may be outdated when it arrives
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

// OpenID Connect Discovery 1.0, section 4: appended, without a slash at the end of the issuer.
function discoveryUrl(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

// Section 4.3: who answers for another issuer could have its tokens accepted as this one's.
function jwksUrlOf(discovered: unknown, issuer: string): URL {
  const { issuer: named, jwks_uri: text } = Object(discovered) as Record<string, unknown>
  if (named !== issuer) throw new Error(`the discovery document is of the issuer ${shown(named)}`)
  const url = readTrustedUrl(text)
  const isDowngrade = url?.protocol === 'http:' && issuer.startsWith('https:')
  if (url === undefined || isDowngrade) throw new Error(`jwks_uri must be an https URL, not ${shown(text)}`)
  return url
}

// RFC 7517, section 5: what is no key among them is ignored. With keys of which none can be used, every token
// would be reported as invalid.
function readKeySet(value: unknown): FindKey {
  const { keys: all } = Object(value) as { keys?: unknown }
  if (!Array.isArray(all)) throw new Error('the keys of the issuer are no list')
  const keys = all.filter((each): each is JWK => Object(each) === each && !Array.isArray(each))
  if (keys.length === 0) throw new Error('the issuer has no keys')
  return createLocalJWKSet({ keys })
}

/**
 * The keys of a set that may have signed a token: several, if it names none, or one is published twice. Of
 * several, those that cannot be used are passed over.
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
