// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header). The transaction of a request also
// claims its key and stores the response, which a request with the same key gets again.

import { type Operation, type RequestError, requestParts, type SerializedResponse } from 'contract-engine'
import type { FastifyRequest } from 'fastify'
import type { Sql } from '../database/database.js'
import type { TransactionSql } from '../database/driver/transaction.js'
import { callerId, jointId } from './caller-id.js'
import { currentVersion, fingerprintOf, idempotencyHeader } from './fingerprints.js'
import { incomparable, inUse, replayedHeader, reused } from './idempotency-errors.js'
import { operationNameOf } from './operation-names.js'
import {
  type Claim,
  claimKeys,
  type IdempotencyKey,
  purgeResponses,
  type StoredResponse,
  storeResponses,
} from './stored-responses.js'

/** A request with an `Idempotency-Key`. */
export interface KeyedRequest {
  readonly id: IdempotencyKey
  /** Of the current version, which is stored. */
  readonly fingerprint: string
  readonly fingerprintAs: (version: number) => string | undefined
}

/** A response, or why a key has none. */
export type Outcome = SerializedResponse | RequestError

/** The key of a request to an idempotent operation; undefined if it has none. */
export function keyedRequest(request: FastifyRequest, operation: Operation): KeyedRequest | undefined {
  if (!operation.isIdempotent || request.headers[idempotencyHeader] === undefined) return undefined
  const name = operationNameOf(request, operation)
  const identical = { ...requestParts(request), operation, name, mediaType: request.mediaType }
  return {
    id: ownKey(request, readKey(request)),
    fingerprint: fingerprintOf(identical, currentVersion) as string, // it knows its own
    fingerprintAs: (version) => fingerprintOf(identical, version),
  }
}

// The keys of one caller are nobody else's: with several, those of all together. What is stored is by the id
// of an API key: from 1, and 0 for requests without a caller. Other callers have a part of -1, by their id:
// 43 characters and a blank.
function ownKey({ client, callers = {} }: Sender, key: string): IdempotencyKey {
  if (client === undefined) return { apiKeyId: 0n, key }
  const all = Object.values(callers)
  if (all.length > 1) return { apiKeyId: -1n, key: `${jointId(all)} ${key}` }
  const { keyId } = client
  return keyId === undefined
    ? { apiKeyId: -1n, key: `${callerId(client)} ${key}` }
    : { apiKeyId: BigInt(keyId), key }
}

type Sender = Pick<FastifyRequest, 'client' | 'callers'>

/** What may have an `Idempotency-Key`. */
interface Call {
  readonly keyed: KeyedRequest | undefined
}

/**
 * Claims the keys of calls until the transaction ends.
 * @returns the outcomes that are known: of the first request with the key, `idempotency_key_reused` or
 * `idempotency_key_in_use`. A call without one has claimed its key, or has none
 */
export async function claim<AnyCall extends Call>(
  sql: Sql,
  calls: readonly AnyCall[],
  keepHours: number,
): Promise<Map<AnyCall, Outcome>> {
  const known = new Map<AnyCall, Outcome>()
  const keyed = calls.flatMap((call) => (call.keyed === undefined ? [] : [{ call, ...call.keyed }]))
  const claims = await claimKeys(
    sql,
    keyed.map(({ id }) => id),
    keepHours,
  )
  const claimed = new Set<string>()
  for (const [i, { call, ...request }] of keyed.entries()) {
    const { isLocked, stored } = claims[i] as Claim // one for each request
    const name = `${request.id.apiKeyId} ${request.id.key}`
    if (stored !== undefined && !isPrecondition(stored)) known.set(call, outcomeOf(stored, request))
    else if (!isLocked || claimed.has(name)) known.set(call, inUse())
    else claimed.add(name)
  }
  return known
}

function outcomeOf(stored: StoredResponse, request: KeyedRequest): Outcome {
  const { version } = stored
  const fingerprint = version === currentVersion ? request.fingerprint : request.fingerprintAs(version)
  if (fingerprint === undefined) return incomparable()
  return fingerprint === stored.fingerprint ? replay(stored) : reused()
}

// Nothing was done, because the client had to read again first (RFC 9110, section 13.2.1): with what it has read
// since, the key is that of the same request. The release before has stored such responses.
function isPrecondition({ status }: SerializedResponse): boolean {
  return status === 412 || status === 428
}

/**
 * Stores the responses of calls that have claimed their keys with the COMMIT of the transaction, unless they are
 * of status 5xx, or a precondition was not met.
 * @param responses one for each call
 */
export function store(
  sql: TransactionSql,
  calls: readonly Call[],
  responses: readonly SerializedResponse[],
): void {
  const stored = calls.flatMap(({ keyed }, i) => {
    const response = responses[i] as SerializedResponse
    if (keyed === undefined || response.status >= 500 || isPrecondition(response)) return []
    return [{ ...response, id: keyed.id, fingerprint: keyed.fingerprint, version: currentVersion }]
  })
  if (stored.length > 0) sql.commitAfter(storeResponses(sql, stored))
}

function replay({ status, headers, body }: SerializedResponse): SerializedResponse {
  return { status, headers: { ...headers, ...replayedHeader }, body }
}

// Bare, or a string of RFC 8941. The contract's pattern allows nothing else.
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
