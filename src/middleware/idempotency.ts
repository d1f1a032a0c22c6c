// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header). The transaction of a handler also
// claims the key and stores the response, which a request with the same key gets again. Handlers do not know
// of it: one runs only for a key that it was claimed for, and again only if its transaction was rolled back.

import type { FastifyRequest } from 'fastify'
import { BatchQueue, refuseMore } from '../database/batch.js'
import type { Sql } from '../database/database.js'
import { abandoned } from '../database/driver/connection.js'
import type { ConnectionSource, Signal } from '../database/driver/sql.js'
import { type TransactionSql, transactionsOn } from '../database/driver/transaction.js'
import { isUnavailable } from '../database/unavailable.js'
import {
  type Around,
  type Operation,
  RequestError,
  requestParts,
  type SerializedResponse,
} from '../openapi/index.js'
import { currentVersion, fingerprintOf, idempotencyHeader } from './fingerprints.js'
import { incomparable, inUse, replayedHeader, reused } from './idempotency-errors.js'
import {
  type Claim,
  claimKeys,
  type IdempotencyKey,
  purgeResponses,
  type StoredResponse,
  storeResponses,
} from './stored-responses.js'

export interface IdempotencyOptions {
  readonly keepHours: number
  /**
   * Whether the handler of an operation does nothing but one batched statement. Then requests that arrive
   * together share a transaction; if one of them fails, the handlers of the others run again, each alone.
   */
  readonly sharesTransactions: (operation: Operation) => boolean
}

/**
 * Runs idempotent operations once for each `Idempotency-Key` of a caller, on one pool, and stores the
 * responses for `keepHours`. Rejects with `idempotency_key_reused`, `idempotency_key_in_use`, or the error of
 * the handler.
 */
export function idempotent(pool: ConnectionSource, options: IdempotencyOptions): Around<Sql> {
  pool.probes.add((sql) => storeResponses(sql, []))
  return (respond, operation) => {
    if (!operation.isIdempotent) return respond
    const respondOnce = options.sharesTransactions(operation)
      ? together(pool, options.keepHours)
      : apart(pool, options.keepHours)
    return async (request, reply, sql) => {
      if (request.headers[idempotencyHeader] === undefined) return respond(request, reply, sql)
      const id = { apiKeyId: BigInt(request.client?.keyId ?? 0), key: readKey(request) }
      const identical = { ...requestParts(request), operation, mediaType: request.mediaType }
      const response = await respondOnce({
        id,
        fingerprint: fingerprintOf(identical, currentVersion) as string, // it knows its own
        fingerprintAs: (version) => fingerprintOf(identical, version),
        signal: request.lifetime,
        run: (sql) => respond(request, reply, sql),
      })
      if (response instanceof RequestError) throw response
      return response
    }
  }
}

interface Call {
  readonly id: IdempotencyKey
  /** Of the current version, which is stored. */
  readonly fingerprint: string
  readonly fingerprintAs: (version: number) => string | undefined
  readonly signal: Signal | undefined
  readonly run: (sql: Sql) => Promise<SerializedResponse>
}

type Outcome = SerializedResponse | RequestError

// Each call in a transaction of its own.
function apart(pool: ConnectionSource, keepHours: number): (call: Call) => Promise<Outcome> {
  return async (call) => {
    const inTransaction = transactionsOn(pool, call.signal)
    const [outcome] = await inTransaction((sql) =>
      respondTo(sql, [call], keepHours, (claimed) => Promise.all(claimed.map((each) => runAlone(sql, each)))),
    )
    return outcome as Outcome // one for each call
  }
}

// Rolls back to a savepoint when the handler refuses the request: a refused request changes nothing. The
// transaction is usable again even if a statement has failed.
async function runAlone(sql: TransactionSql, { run }: Call): Promise<SerializedResponse> {
  const rollBack = sql.savepoint()
  const response = await run(sql.independent())
  if (response.status >= 400) await rollBack()
  return response
}

// Calls that arrive together in one transaction. It cannot undo the work of one call without that of the
// others: if one fails, the queue repeats each by itself, and one that is refused is repeated apart.
function together(pool: ConnectionSource, keepHours: number): (call: Call) => Promise<Outcome> {
  const queue = new BatchQueue<TransactionSql, Call, Outcome>(transactionsOn(pool), (sql, calls) =>
    respondTo(sql, calls, keepHours, (claimed) => runTogether(sql, claimed)),
  )
  const respondApart = apart(pool, keepHours)
  return async (call) => {
    try {
      return await queue.add(call, call.signal)
    } catch (error) {
      if (error !== refused) throw error
      return respondApart(call)
    }
  }
}

const refused = new Error('a request was refused, which shared a transaction')

// For one batched statement of a handler, which serves them all. What a second one reads would lack what
// another handler is about to write, whatever it locks.
function forOneStatement(sql: Sql): Sql {
  const { types, typed } = sql // these build a parameter, and send nothing
  const others = {
    array: refuseMore,
    json: refuseMore,
    unsafe: refuseMore,
    notify: refuseMore,
    file: refuseMore,
    part: refuseMore,
  }
  return Object.assign(() => refuseMore(), { types, typed, ...others, only: { sql, isUsed: false } })
}

async function runTogether(sql: Sql, calls: readonly Call[]): Promise<SerializedResponse[]> {
  const settled = await Promise.allSettled(calls.map(({ run }) => run(forOneStatement(sql))))
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  if (failures.length > 0) throw failures.find(isUnavailable) ?? failures[0]
  const responses = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  if (responses.some(({ status }) => status >= 400)) throw refused
  return responses
}

// The stored response of a key that has one, or else that of the handler, if the key is claimed now.
async function respondTo(
  sql: TransactionSql,
  calls: readonly Call[],
  keepHours: number,
  run: (claimed: readonly Call[]) => Promise<readonly SerializedResponse[]>,
): Promise<Outcome[]> {
  const ids = calls.map(({ id }) => id)
  const known = knownOutcomes(calls, await claimKeys(sql, ids, keepHours))
  const claimed = calls.filter((_, i) => known[i] === undefined)
  const responses = await run(claimed)
  store(sql, claimed, responses)
  let next = 0
  return known.map((outcome) => outcome ?? (responses[next++] as SerializedResponse)) // one for each claimed
}

function knownOutcomes(calls: readonly Call[], claims: readonly Claim[]): (Outcome | undefined)[] {
  const claimed = new Set<string>()
  return calls.map((call, i) => {
    const { isLocked, stored } = claims[i] as Claim // one for each call
    if (stored !== undefined) return outcomeOf(stored, call)
    const name = `${call.id.apiKeyId} ${call.id.key}`
    if (!isLocked || claimed.has(name)) return inUse()
    claimed.add(name)
    return undefined
  })
}

function outcomeOf(stored: StoredResponse, call: Call): Outcome {
  const { version } = stored
  const fingerprint = version === currentVersion ? call.fingerprint : call.fingerprintAs(version)
  if (fingerprint === undefined) return incomparable()
  return fingerprint === stored.fingerprint ? replay(stored) : reused()
}

function store(sql: TransactionSql, calls: readonly Call[], responses: readonly SerializedResponse[]): void {
  // A request that timed out has its 503 already: it must not be committed, but the others may be repeated.
  if (calls.some(({ signal }) => signal?.aborted))
    throw calls.length === 1 ? abandoned() : new Error('a client has gone')
  const stored = calls.flatMap(({ id, fingerprint }, i) => {
    const response = responses[i] as SerializedResponse // one for each call
    return response.status < 500 ? [{ ...response, id, fingerprint, version: currentVersion }] : []
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
