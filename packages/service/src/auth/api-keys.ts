// Authenticates clients by API key. If the database is unavailable, the error is 503 and never 401, because a
// valid key must not be reported as invalid.

import type { Check } from 'contract-engine'
import { findClientKey } from '../database/api-keys.js'
import type { Sql } from '../database/database.js'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { OperatorError } from '../lib/operator-error.js'
import type { LoadShedder } from '../middleware/load-shedding.js'
import { hashApiKey, isApiKey, looksLikeApiKey } from './api-key.js'
import type { AnyCheckFactory, CheckFactory } from './checks.js'
import { type Client, toClient } from './client.js'
import { keyErrors } from './unauthorized.js'

// Without a cache, each request would wait for a look-up. With this age, a revocation takes effect on every
// instance within a second; unlike a notification, an age limit cannot get lost. It costs each instance one
// indexed query a second for each key in use.
const cacheAgeMs = 900
const cachedKeysMax = 10_000

/**
 * Makes the check of a scheme whose credentials are the service's own keys (`keys create`): an `http` bearer
 * scheme, or an `apiKey` in a header, a query or a cookie.
 */
export function apiKeys(): CheckFactory {
  const make: CheckFactory = ({ scheme, contract, pools, loadShedder }) => {
    const definition = contract.securitySchemes.get(scheme)
    if (definition?.scheme?.toLowerCase() === 'basic')
      throw new OperatorError(
        `An API key is no name and password: ${scheme} (http basic) needs basic(verify).`,
      )
    pools.keys.probes.add(probe)
    const find = async (hash: string) => {
      const key = await findClientKey(pools.keys.sql, hash)
      return key && toClient(key, scheme, contract)
    }
    return new KeyCheck(find, loadShedder, keyErrors(definition))
  }
  factories.add(make)
  return make
}

const factories = new WeakSet<AnyCheckFactory>()

/** Returns the schemes of a list whose credentials are the service's own keys. */
export function schemesOfKeys(schemes: Readonly<Record<string, AnyCheckFactory>>): ReadonlySet<string> {
  const own = Object.entries(schemes).filter(([, make]) => factories.has(make))
  return new Set(own.map(([name]) => name))
}

const probe = (sql: Sql) => findClientKey(sql, '')

/** Finds the client of a key that is not revoked, by the hash of the key. */
export type FindClient = (keyHash: string) => Promise<Client | undefined>

/** The check of API keys. */
export class KeyCheck implements Check<Client> {
  readonly #keys: KeyCache
  // The same function for all schemes, because the keys of two schemes have the same form.
  readonly recognizes = looksLikeApiKey

  constructor(
    findClient: FindClient,
    readonly loadShedder: Pick<LoadShedder, 'run'>,
    readonly errors: NonNullable<Check['errors']>,
  ) {
    this.#keys = new KeyCache(findClient)
  }

  /**
   * Returns the client of a key, at once if it was looked up recently, or undefined if the key is not valid.
   * Rejects with the error of the query, or `overload`.
   */
  caller(key: string): Client | undefined | Promise<Client | undefined> {
    const hash = hashApiKey(key)
    const client = this.#keys.fresh(hash)
    if (client !== undefined) return unlessExpired(client)
    // A cached key has the right format, so only others need their checksum computed.
    return isApiKey(key) ? this.#lookUp(hash) : undefined
  }

  /** Returns the client of the last look-up, however old. The key may be revoked by now. */
  recall(key: string): Client | undefined {
    return this.#keys.recall(hashApiKey(key))
  }

  // A key that this process has never found may be a guess.
  async #lookUp(hash: string): Promise<Client | undefined> {
    const lane = this.#keys.recall(hash) === undefined ? 'unknown keys' : 'work'
    const client = await this.loadShedder.run(() => this.#keys.find(hash), lane)
    return client && unlessExpired(client)
  }
}

function unlessExpired(client: Client): Client | undefined {
  const { expiresAt } = client
  return expiresAt !== undefined && expiresAt.getTime() <= Date.now() ? undefined : client
}

// Keys by hash. The cache holds only valid keys, so guesses cannot evict them, and a new key works at once.
// The age counts from before the query, because its result may be outdated when it arrives.
class KeyCache {
  readonly #found = createCache<{ readonly client: Client; readonly readAt: number }>(cachedKeysMax)
  readonly #pending = new Map<
    string,
    { readonly lookup: Promise<Client | undefined>; readonly readAt: number }
  >()

  constructor(readonly findClient: FindClient) {}

  /** Returns the client of a key, if it was read recently. */
  fresh(keyHash: string): Client | undefined {
    const entry = this.#found.get(keyHash)
    return isFresh(entry) ? entry.client : undefined
  }

  /** Returns the client of a key, however old. */
  recall(keyHash: string): Client | undefined {
    return this.#found.get(keyHash)?.client
  }

  /** Looks a key up, unless it was read recently or a recent look-up is in flight. */
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
