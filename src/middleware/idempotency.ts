// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header). The transaction of a handler also
// stores its response, which a request with the same key gets again. Concurrent requests whose handlers each
// run one batched statement share a transaction. Handlers do not know of it.

import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { stringify } from 'lossless-json'
import { BatchQueue } from '../database/batch.js'
import type { Sql } from '../database/database.js'
import {
  type ConnectionSource,
  type HeldConnection,
  type Signal,
  whileAnyWaits,
} from '../database/driver/sql.js'
import { type TransactionSql, transact } from '../database/driver/transaction.js'
import { isUnavailable } from '../database/unavailable.js'
import { type Around, type Operation, RequestError, type SerializedResponse } from '../openapi/index.js'
import { inUse, replayedHeader, reused } from './idempotency-errors.js'
import {
  claimKeys,
  claimNewKeys,
  type IdempotencyKey,
  purgeResponses,
  storeNewResponses,
  storeResponses,
} from './stored-responses.js'

// In lower case as in Node's `headers`.
const idempotencyHeader = 'idempotency-key'

/**
 * Runs idempotent operations once for each `Idempotency-Key` of a caller, on one pool, and stores the
 * responses for `keepHours`. A handler may run again after a rollback, so it must do nothing but statements
 * on its `sql`. Rejects with `idempotency_key_reused`, `idempotency_key_in_use`, or the error of the handler.
 */
export function idempotent(pool: ConnectionSource, keepHours: number): Around<Sql> {
  pool.probes.add((sql) => storeResponses(sql, []))
  return (respond, operation) => {
    if (!operation.isIdempotent) return respond
    const respondOnce = createRespondOnce(pool, keepHours)
    const parameters = outsideUrl(operation)
    return async (request, reply, sql) => {
      if (request.headers[idempotencyHeader] === undefined) return respond(request, reply, sql)
      return respondOnce({
        id: { apiKeyId: BigInt(request.client?.keyId ?? 0), key: readKey(request) },
        fingerprint: fingerprintOf(operation.id, request, parameters),
        signal: request.lifetime,
        run: (sql) => respond(request, reply, sql),
      })
    }
  }
}

function createRespondOnce(
  pool: ConnectionSource,
  keepHours: number,
): (call: Call) => Promise<SerializedResponse> {
  // False once a handler of the operation has run more than one batched statement.
  let isShared = true
  const respondTogether = async (held: HeldConnection, calls: readonly Call[]) => {
    try {
      return (await respondToNew(held, calls)) ?? (await respondToAll(held, calls, keepHours))
    } catch (error) {
      if (error === notShared) isShared = false
      throw error
    }
  }
  const queue = new BatchQueue<HeldConnection, Call, SerializedResponse | RequestError>(pool, respondTogether)
  const respondAlone = async (call: Call) => {
    const [response] = await pool.hold(call.signal, (held) => respondToAll(held, [call], keepHours))
    return response as SerializedResponse | RequestError // one for each call
  }
  return async (call) => {
    const response = await (isShared ? queue.add(call, call.signal) : respondAlone(call))
    if (response instanceof RequestError) throw response
    return response
  }
}

interface Call {
  readonly id: IdempotencyKey
  readonly fingerprint: string
  readonly signal: Signal | undefined
  readonly run: (sql: Sql) => Promise<SerializedResponse>
}

// Almost always, each key is new. So the handlers do not wait for the claim, which saves a round trip.
// Undefined if a key was not new, or a handler failed: then everything is rolled back.
async function respondToNew(
  held: HeldConnection,
  calls: readonly Call[],
): Promise<SerializedResponse[] | undefined> {
  if (calls.length === 1 || new Set(calls.map(nameOf)).size < calls.length) return undefined
  try {
    return await transact(held, signalOf(calls), async (sql) => {
      const ids = calls.map(({ id }) => id)
      const [areNew, responses] = await Promise.all([claimNewKeys(sql, ids), runTogether(sql, calls)])
      if (!areNew) throw new Error('a key is not new')
      store(sql, calls, responses, storeNewResponses)
      return responses
    })
  } catch (error) {
    if (error === notShared || isUnavailable(error)) throw error
    return undefined
  }
}

async function respondToAll(
  held: HeldConnection,
  calls: readonly Call[],
  keepHours: number,
): Promise<(SerializedResponse | RequestError)[]> {
  return transact(held, signalOf(calls), async (sql) => {
    const ids = calls.map(({ id }) => id)
    const claims = await claimKeys(sql, ids, keepHours)
    const running = new Set<string>()
    const known = claims.map(({ isLocked, stored }, i) => {
      const call = calls[i] as Call // one for each claim
      if (stored !== undefined) return call.fingerprint === stored.fingerprint ? replay(stored) : reused()
      const name = nameOf(call)
      if (!isLocked || running.has(name)) return inUse()
      running.add(name)
      return undefined
    })
    const responses = await runAll(
      sql,
      calls.filter((_, i) => known[i] === undefined),
    )
    // One for each that is unknown.
    return known.map((each) => each ?? (responses.shift() as SerializedResponse))
  })
}

function signalOf(calls: readonly Call[]): Signal {
  return whileAnyWaits(calls.map(({ signal }) => signal))
}

function nameOf({ id }: Call): string {
  return `${id.apiKeyId} ${id.key}`
}

// Runs the handler for each call, and stores the responses.
async function runAll(sql: TransactionSql, calls: readonly Call[]): Promise<SerializedResponse[]> {
  const [first, ...others] = calls
  if (first === undefined) return []
  const responses = others.length === 0 ? [await runAlone(sql, first)] : await runTogether(sql, calls)
  store(sql, calls, responses, storeResponses)
  return responses
}

function store(
  sql: TransactionSql,
  calls: readonly Call[],
  responses: readonly SerializedResponse[],
  storeAll: typeof storeResponses,
): void {
  const stored = calls.flatMap(({ id, fingerprint }, i) => {
    const response = responses[i] as SerializedResponse // one for each call
    return response.status < 500 ? [{ id, fingerprint, response }] : []
  })
  if (stored.length > 0) sql.commitAfter(storeAll(sql, stored))
  // A request that timed out has its 503 already: it must not be committed with the others'.
  if (calls.length > 1 && calls.some(({ signal }) => signal?.aborted)) throw new Error('a client has gone')
}

// Rolls back to a savepoint when the handler refuses the request: a refused request changes nothing. The
// transaction is usable again even if the handler made the refusal of a failed statement.
async function runAlone(transaction: TransactionSql, { run }: Call): Promise<SerializedResponse> {
  const rollBack = transaction.savepoint()
  const response = await run(transaction)
  if (response.status >= 400) await rollBack()
  return response
}

// The work of one call cannot be rolled back without the others'. So when one is refused or fails, the batch
// is rolled back and each call runs alone. The same when a handler runs more than one batched statement: what
// it reads first would not include what another call is about to write, whatever it locks.
async function runTogether(sql: Sql, calls: readonly Call[]): Promise<SerializedResponse[]> {
  let isMore = false
  const refuse = () => {
    isMore = true
    throw notShared
  }
  const settled = await Promise.allSettled(calls.map(({ run }) => run(shareable(sql, refuse))))
  if (isMore) throw notShared
  const lost = settled.find((each) => each.status === 'rejected' && isUnavailable(each.reason))
  if (lost?.status === 'rejected') throw lost.reason
  return settled.map((each) => {
    if (each.status === 'rejected' || each.value.status >= 400)
      throw new Error('a call was refused or failed')
    return each.value
  })
}

const notShared = new Error('more than one batched statement cannot share a transaction')

// The `sql` of one of the handlers in a transaction: a batched statement may call `share` once, and no more.
function shareable(sql: Sql, refuse: () => never): Sql {
  let isUsed = false
  const share = () => {
    if (isUsed) refuse()
    isUsed = true
    return sql
  }
  const { types, typed } = sql // these build a parameter, and send nothing
  const others = { array: refuse, json: refuse, unsafe: refuse, notify: refuse, file: refuse }
  return Object.assign(() => refuse(), { types, typed, ...others, share })
}

function replay({ status, headers, body }: SerializedResponse): SerializedResponse {
  return { status, headers: { ...headers, ...replayedHeader }, body }
}

// Bare, or a string of RFC 8941. The contract's pattern allows nothing else.
function readKey({ headers }: FastifyRequest): string {
  const text = String(headers[idempotencyHeader])
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

// The declared headers and cookies, other than the key itself. Others are sent by proxies and browsers.
function outsideUrl({ parameters }: Operation): Operation['parameters'] {
  return parameters.filter(
    ({ name, in: location }) =>
      location === 'cookie' || (location === 'header' && name.toLowerCase() !== idempotencyHeader),
  )
}

// A request is the same if its operation, and its parameters and body as validated, are: not as they were
// written. If another version hashed something else, a repetition gets 422: nothing is done twice.
function fingerprintOf(id: string, request: FastifyRequest, parameters: Operation['parameters']): string {
  const { params, query, headers, cookies = {}, mediaType, body } = request
  const others = parameters.map(({ name, in: location }) => {
    const values: Record<string, unknown> = location === 'cookie' ? { ...cookies } : headers
    return [`${location} ${name}`, values[location === 'cookie' ? name : name.toLowerCase()]]
  })
  const type = body === undefined ? undefined : mediaType?.toLowerCase()
  const parts = [id, params, query, Object.fromEntries(others), type, body]
  return hash('sha256', stringify(parts, inOrder) ?? '', 'base64')
}

function inOrder(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return hash('sha256', value)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
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
