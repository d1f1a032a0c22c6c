// Authenticates clients by bearer key (RFC 6750). If the database is unavailable the error is 503 and never
// 401: a valid key must not be reported as invalid.

import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import type { RequestError } from '../openapi/index.js'
import { hashApiKey, isApiKey } from './api-key.js'
import type { Client } from './client.js'
import { invalidKey, missingKey } from './unauthorized.js'

/** Finds the client of a key that is not revoked, by the hash of the key. */
export type FindClient = (keyHash: string) => Promise<Client | undefined>

// A revocation takes effect within this time on every instance. Unlike a notification, an age limit cannot
// get lost. It costs each instance one indexed query a second for each key in use.
const cacheAgeMs = 900
const cachedKeysMax = 10_000

/** The authentication of bearer keys. */
export class Authentication {
  readonly #keys: KeyCache

  /** @param realm the protected space in `WWW-Authenticate` (RFC 9110, section 11.5) */
  constructor(
    findClient: FindClient,
    readonly realm: string,
  ) {
    this.#keys = new KeyCache(findClient)
  }

  /**
   * The client of a key that was looked up recently, or the 401 of a request without one; undefined for a key
   * that must be looked up. The 401 is not thrown: the operation may be public.
   */
  known(authorization: string | undefined): Client | RequestError | undefined {
    const key = bearerToken(authorization)
    if (key === undefined) return missingKey(this.realm)
    const client = this.#keys.fresh(hashApiKey(key))
    if (client !== undefined) return this.#unlessExpired(client)
    // A cached key has the right format; only compute the checksum of others.
    return isApiKey(key) ? undefined : invalidKey(this.realm)
  }

  /** Looks a key up, or joins such a look-up: its client, or its 401. Rejects with the error of the query. */
  async lookUp(authorization: string | undefined): Promise<Client | RequestError> {
    return this.#unlessExpired(await this.#keys.find(hashOf(authorization)))
  }

  /** The client from the last look-up, however old. For what needs no valid key: it may be revoked by now. */
  recall(authorization: string | undefined): Client | undefined {
    return this.#keys.recall(hashOf(authorization))
  }

  #unlessExpired(client: Client | undefined): Client | RequestError {
    const isExpired = client?.expiresAt !== undefined && client.expiresAt.getTime() <= Date.now()
    return client === undefined || isExpired ? invalidKey(this.realm) : client
  }
}

// Looked-up keys, by hash. Only valid keys are kept, so guesses cannot evict them, and a new key works at
// once. The age counts from before the query, because its result may have been outdated when it arrived.
class KeyCache {
  readonly #found = createCache<{ readonly client: Client; readonly readAt: number }>(cachedKeysMax)
  readonly #pending = new Map<
    string,
    { readonly lookup: Promise<Client | undefined>; readonly readAt: number }
  >()

  constructor(readonly findClient: FindClient) {}

  /** The client of a key, if it was read recently. */
  fresh(keyHash: string): Client | undefined {
    const entry = this.#found.get(keyHash)
    return isFresh(entry) ? entry.client : undefined
  }

  /** The client of a key, however old. */
  recall(keyHash: string): Client | undefined {
    return this.#found.get(keyHash)?.client
  }

  /** Looks a key up, unless it was read recently or such a look-up is in flight. */
  async find(keyHash: string): Promise<Client | undefined> {
    const known = this.fresh(keyHash)
    if (known !== undefined) return known
    const pending = this.#pending.get(keyHash)
    return isFresh(pending) ? pending.lookup : this.#lookUp(keyHash)
  }

  #lookUp(keyHash: string): Promise<Client | undefined> {
    const readAt = elapsedMs()
    const lookup = this.#findAndKeep(keyHash, readAt).finally(() => {
      if (this.#pending.get(keyHash) === entry) this.#pending.delete(keyHash)
    })
    const entry = { lookup, readAt }
    this.#pending.set(keyHash, entry)
    return lookup
  }

  async #findAndKeep(keyHash: string, readAt: number): Promise<Client | undefined> {
    const client = await this.findClient(keyHash)
    if (client === undefined) this.#found.delete(keyHash)
    else this.#found.set(keyHash, { client, readAt })
    return client
  }
}

function isFresh<Entry extends { readonly readAt: number }>(entry: Entry | undefined): entry is Entry {
  return entry !== undefined && elapsedMs() - entry.readAt < cacheAgeMs
}

// RFC 9110, section 11.1: the scheme is case-insensitive.
function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
}

function hashOf(authorization: string | undefined): string {
  return hashApiKey(bearerToken(authorization) ?? '')
}
