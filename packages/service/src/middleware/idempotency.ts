// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): reads the key of a request, makes
// its fingerprint, and deletes expired responses.

import { type Operation, requestParts } from 'contract-engine'
import type { FastifyRequest } from 'fastify'
import type { Sql } from '../database/database.js'
import { callerId, jointId } from './caller-id.js'
import { createFingerprints, currentVersion, idempotencyHeader } from './fingerprints.js'
import { operationNameOf } from './operation-names.js'
import { type IdempotencyKey, type KeyedRequest, purgeResponses } from './stored-responses.js'

/**
 * Returns a function that reads the keys of an operation's requests. It returns undefined for a request
 * without a key, and for an operation that is not idempotent.
 */
export function createKeyedRequests(
  operation: Operation,
): (request: FastifyRequest) => KeyedRequest | undefined {
  if (!operation.isIdempotent) return () => undefined
  const fingerprintOf = createFingerprints(operation)
  return (request) => {
    if (request.headers[idempotencyHeader] === undefined) return undefined
    const id = ownKey(request, readKey(request))
    const name = operationNameOf(request, operation)
    const identical = { parts: requestParts(request), name, mediaType: request.mediaType }
    return {
      id,
      fingerprint: fingerprintOf(identical, currentVersion) as string, // never undefined for this version
      fingerprintAs: (version) => fingerprintOf(identical, version),
    }
  }
}

// Makes a key unique to its caller, or to all callers of the request together. The table stores the id of an
// API key, from 1, or 0 for requests without a caller. All other callers share -1; there the key begins with
// the caller's id: 43 characters and a blank.
function ownKey({ client, callers = {} }: Sender, key: string): IdempotencyKey {
  if (client === undefined) return { apiKeyId: '0', key }
  const all = Object.values(callers)
  if (all.length > 1) return { apiKeyId: '-1', key: `${jointId(all)} ${key}` }
  const { keyId } = client
  return keyId === undefined
    ? { apiKeyId: '-1', key: `${callerId(client)} ${key}` }
    : { apiKeyId: keyId, key }
}

type Sender = Pick<FastifyRequest, 'client' | 'callers'>

// Reads a bare key, or a string of RFC 8941. The contract's pattern allows nothing else.
function readKey({ headers }: FastifyRequest): string {
  const text = String(headers[idempotencyHeader])
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

const purgeEveryMs = 60_000
const purgeBatch = 1_000

/** Deletes expired responses every minute, in batches. */
export function purgeRegularly(
  sql: Sql,
  keepHours: number,
  onError: (error: unknown) => void,
): { stop(): void } {
  const purge = async () => {
    while ((await purgeResponses(sql, keepHours, purgeBatch)) === purgeBatch);
  }
  const timer = setInterval(() => void purge().catch(onError), purgeEveryMs).unref()
  return { stop: () => clearInterval(timer) }
}
