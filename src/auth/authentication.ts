// Bearer key -> client (RFC 6750). A database that does not answer makes a 503,
// never a 401: a valid key must not be called invalid.

import { ApiError } from '../errors.js'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { hashApiKey, isApiKey } from './api-key.js'
import type { Client } from './client.js'

/** Reads a key that is not revoked, by its hash. */
export type FindClient = (keyHash: string) => Promise<Client | undefined>

/**
 * The bearer token's client, or the look-up that will tell.
 * @throws {ApiError} `missing_api_key` or `invalid_api_key`
 */
export interface Authenticate {
  (authorization: string | undefined): Client | LookUp
  /** Whose key it was when it was last looked up, if that is remembered: enough to say how its client stands, and for no more. */
  recall(authorization: string | undefined): Client | undefined
}

/** A look-up that has not begun. */
export interface LookUp {
  /** Whether the key may be a guess, for now: it was not found here before, nor is it being looked up. */
  isGuess(): boolean
  /** Begins, unless another has or has ended meanwhile. Rejects with `invalid_api_key`, or with its own failure. */
  run(): Promise<Client>
}

/** Time, for tests to take the place of. */
export interface Clock {
  /** Milliseconds since the epoch, for keys that end at a date. */
  now(): number
  /** Milliseconds since some moment, for ages. */
  elapsedMs(): number
}

// A revocation anywhere is seen within this time, whatever becomes of connections in between: an age bound
// needs no message to arrive. It costs each instance one indexed query a second for each key in use.
const cacheAgeMs = 900
const cachedKeysMax = 10_000

/**
 * Makes the check of bearer keys.
 * @param realm names the protected space in `WWW-Authenticate` (RFC 9110, section 11.5)
 */
export function createAuthenticate(
  findClient: FindClient,
  realm: string,
  clock: Clock = { now: Date.now, elapsedMs },
): Authenticate {
  // Only found keys are kept, so guesses cannot push them out, and a new key works at once. The age counts
  // from before the query: what it read may already have been on its way out then.
  const cache = createCache<{ readonly client: Client; readonly readAt: number }>(cachedKeysMax)
  const pending = new Map<string, { readonly lookup: Promise<Client | undefined>; readonly readAt: number }>()
  const isFresh = ({ readAt }: { readonly readAt: number }) => clock.elapsedMs() - readAt < cacheAgeMs

  async function look(keyHash: string, readAt: number): Promise<Client | undefined> {
    const client = await findClient(keyHash)
    if (client === undefined) cache.delete(keyHash)
    else cache.set(keyHash, { client, readAt })
    return client
  }

  function known(keyHash: string): Client | undefined {
    const cached = cache.get(keyHash)
    return cached !== undefined && isFresh(cached) ? cached.client : undefined
  }

  function underWay(keyHash: string): Promise<Client | undefined> | undefined {
    const waiting = pending.get(keyHash)
    return waiting !== undefined && isFresh(waiting) ? waiting.lookup : undefined
  }

  function begin(keyHash: string): Promise<Client | undefined> {
    const readAt = clock.elapsedMs()
    const lookup = look(keyHash, readAt).finally(() => {
      if (pending.get(keyHash) === entry) pending.delete(keyHash)
    })
    const entry = { lookup, readAt }
    pending.set(keyHash, entry)
    return lookup
  }

  function valid(client: Client | undefined): Client {
    const expired = client?.expiresAt !== undefined && client.expiresAt.getTime() <= clock.now()
    if (client === undefined || expired) throw invalidKey(realm)
    return client
  }

  function authenticate(authorization: string | undefined): Client | LookUp {
    const key = bearerToken(authorization)
    if (key === undefined) throw missingKey(realm)
    const keyHash = hashApiKey(key)
    // What is known was a key when it was found.
    const client = known(keyHash)
    if (client !== undefined || !isApiKey(key)) return valid(client)
    return {
      // However long ago it was found.
      isGuess: () => !cache.has(keyHash) && underWay(keyHash) === undefined,
      run: async () => valid(known(keyHash) ?? (await (underWay(keyHash) ?? begin(keyHash)))),
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

/** No key was sent: 401 with `WWW-Authenticate`. */
export function missingKey(realm: string): ApiError {
  return new ApiError('missing_api_key', 'Send an API key: "Authorization: Bearer <API_KEY>".', {
    headers: { 'WWW-Authenticate': `Bearer realm=${quoted(realm)}` },
  })
}

/** One answer for a mistyped, unknown, expired or revoked key: which it is, is nobody's business. */
export function invalidKey(realm: string): ApiError {
  const description = 'The API key is mistyped, unknown, expired or revoked'
  return new ApiError('invalid_api_key', `${description}.`, {
    headers: {
      'WWW-Authenticate': `Bearer realm=${quoted(realm)}, error="invalid_token", error_description="${description}"`,
    },
  })
}

// A quoted-string (RFC 9110, section 5.6.4); a field's value is ASCII.
function quoted(text: string): string {
  const ascii = text.normalize('NFKD').replace(/[^ -~]/g, '')
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}
