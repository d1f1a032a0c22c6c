// Bearer key -> client (specification, section 5; RFC 6750). A database that does not answer makes a 503,
// never a 401: a valid key must not be called invalid.

import { LRUCache } from 'lru-cache'
import { ApiError } from '../errors.js'
import type { Soon } from '../proceed.js'
import { hashApiKey, isApiKey } from './api-key.js'
import type { Client } from './client.js'

/** Reads a key that is not revoked, by its hash. */
export type FindClient = (keyHash: string) => Promise<Client | undefined>

/**
 * The bearer token's client, at once where no look-up is needed.
 * @throws {ApiError} `missing_api_key` or `invalid_api_key`; a look-up rejects with that, or with its own failure
 */
export type Authenticate = (authorization: string | undefined) => Soon<Client>

// A revocation anywhere is seen within this time, whatever becomes of connections in between: an age bound
// needs no message to arrive. It costs each instance one indexed query a second for each key in use.
const cacheAgeMs = 900
const cachedKeysMax = 10_000

/**
 * Makes the check of bearer keys.
 * @param realm names the protected space in `WWW-Authenticate` (RFC 9110, section 11.5)
 * @param now the time in milliseconds since the epoch
 */
export function createAuthenticate(
  findClient: FindClient,
  realm: string,
  now: () => number = Date.now,
): Authenticate {
  // Only found keys are kept, so guesses cannot push them out, and a new key works at once. The age counts
  // from before the query: what it read may already have been on its way out then.
  const cache = new LRUCache<string, { readonly client: Client; readonly readAt: number }>({
    max: cachedKeysMax,
  })
  const pending = new Map<string, { readonly lookup: Promise<Client | undefined>; readonly readAt: number }>()
  // Either way, for a clock may be set back.
  const isFresh = ({ readAt }: { readonly readAt: number }) => Math.abs(now() - readAt) < cacheAgeMs

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

  function find(keyHash: string): Promise<Client | undefined> {
    const waiting = pending.get(keyHash)
    if (waiting !== undefined && isFresh(waiting)) return waiting.lookup
    const readAt = now()
    const lookup = look(keyHash, readAt).finally(() => {
      if (pending.get(keyHash) === entry) pending.delete(keyHash)
    })
    const entry = { lookup, readAt }
    pending.set(keyHash, entry)
    return lookup
  }

  function valid(client: Client | undefined): Client {
    const expired = client?.expiresAt !== undefined && client.expiresAt.getTime() <= now()
    if (client === undefined || expired) throw invalidKey(realm)
    return client
  }

  return (authorization) => {
    const key = bearerToken(authorization)
    if (key === undefined) throw missingKey(realm)
    const keyHash = hashApiKey(key)
    // What is known was a key when it was found.
    const client = known(keyHash)
    if (client !== undefined || !isApiKey(key)) return valid(client)
    return find(keyHash).then(valid)
  }
}

// RFC 9110, section 11.1: the scheme is case-insensitive.
function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
}

function missingKey(realm: string): ApiError {
  return new ApiError('missing_api_key', 'Send an API key: "Authorization: Bearer <API_KEY>".', {
    headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` },
  })
}

// One answer for a mistyped, unknown, expired or revoked key: which it is, is nobody's business.
function invalidKey(realm: string): ApiError {
  const description = 'The API key is mistyped, unknown, expired or revoked'
  return new ApiError('invalid_api_key', `${description}.`, {
    headers: {
      'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token", error_description="${description}"`,
    },
  })
}
