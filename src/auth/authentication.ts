// Authenticates clients by bearer key (RFC 6750). If the database is unavailable the error is 503 and never 401: a valid key must not be
// reported as invalid.

import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { invalidKey, missingKey } from '../middleware/additions.js'
import { hashApiKey, isApiKey } from './api-key.js'
import type { Client } from './client.js'

/** Finds the client of a key that is not revoked, by the hash of the key. */
export type FindClient = (keyHash: string) => Promise<Client | undefined>

/**
 * Returns the client of a bearer token, or a look-up to run if the key is not in the cache.
 * @throws {RequestError} `missing_api_key` or `invalid_api_key`
 */
export interface Authenticate {
  (authorization: string | undefined): Client | LookUp
  /** The client from the last look-up, however old. For rate-limit headers only: the key may be revoked by now. */
  recall(authorization: string | undefined): Client | undefined
}

/** A look-up that has not started. */
export interface LookUp {
  /** Whether this process has found the key before. Any other may be a guess. */
  readonly isKnown: boolean
  /** Looks the key up, or joins a look-up in flight. Rejects with `invalid_api_key`, or the error of the query. */
  run(): Promise<Client>
}

// A revocation takes effect within this time on every instance. Unlike a notification, an age limit cannot get lost. It costs each
// instance one indexed query a second for each key in use.
const cacheAgeMs = 900
const cachedKeysMax = 10_000

/**
 * Creates the authentication of bearer keys.
 * @param realm the protected space in `WWW-Authenticate` (RFC 9110, section 11.5)
 */
export function createAuthenticate(findClient: FindClient, realm: string): Authenticate {
  // Only valid keys are cached, so guesses cannot evict them, and a new key works at once. The age counts from before the query,
  // because its result may have been outdated when it arrived.
  const cache = createCache<{ readonly client: Client; readonly readAt: number }>(cachedKeysMax)
  const pending = new Map<string, { readonly lookup: Promise<Client | undefined>; readonly readAt: number }>()
  const fresh = <Entry extends { readonly readAt: number }>(entry: Entry | undefined) =>
    entry !== undefined && elapsedMs() - entry.readAt < cacheAgeMs ? entry : undefined
  const known = (keyHash: string) => fresh(cache.get(keyHash))?.client
  const inFlight = (keyHash: string) => fresh(pending.get(keyHash))?.lookup

  async function findAndCache(keyHash: string, readAt: number): Promise<Client | undefined> {
    const client = await findClient(keyHash)
    if (client === undefined) cache.delete(keyHash)
    else cache.set(keyHash, { client, readAt })
    return client
  }

  function start(keyHash: string): Promise<Client | undefined> {
    const readAt = elapsedMs()
    const lookup = findAndCache(keyHash, readAt).finally(() => {
      if (pending.get(keyHash) === entry) pending.delete(keyHash)
    })
    const entry = { lookup, readAt }
    pending.set(keyHash, entry)
    return lookup
  }

  function valid(client: Client | undefined): Client {
    const expired = client?.expiresAt !== undefined && client.expiresAt.getTime() <= Date.now()
    if (client === undefined || expired) throw invalidKey(realm)
    return client
  }

  function authenticate(authorization: string | undefined): Client | LookUp {
    const key = bearerToken(authorization)
    if (key === undefined) throw missingKey(realm)
    const keyHash = hashApiKey(key)
    // A cached key has the right format; only compute the checksum of others.
    const client = known(keyHash)
    if (client !== undefined || !isApiKey(key)) return valid(client)
    return {
      isKnown: cache.has(keyHash), // a stale entry
      run: async () => valid(known(keyHash) ?? (await (inFlight(keyHash) ?? start(keyHash)))),
    }
  }

  function recall(authorization: string | undefined): Client | undefined {
    const key = bearerToken(authorization)
    return key === undefined ? undefined : cache.get(hashApiKey(key))?.client
  }

  return Object.assign(authenticate, { recall })
}

// RFC 9110, section 11.1: the scheme is case-insensitive.
function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
}
