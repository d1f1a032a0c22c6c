// Requests that may arrive twice are done once (draft-ietf-httpapi-idempotency-key-header): the first answer is kept by the
// transaction that did what it tells of, and given again to whoever asks with the same key. Where one batched statement is all that a
// request does, those of the same time share a transaction, so that what they do, and their answers, are few statements' work. The
// handler knows nothing of it.

import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { stringify } from 'lossless-json'
import { BatchQueue } from '../database/batch.js'
import { type HeldConnection, type Holding, type Signal, whileAnyWaits } from '../database/driver/sql.js'
import { type TransactionSql, transact } from '../database/driver/transaction.js'
import {
  type IdempotencyKey,
  claim,
  type SerializedResponse,
  storeResponses,
  purgeResponses,
} from '../database/idempotency-keys.js'
import type { Sql } from '../database/types.js'
import { isUnavailable } from '../database/unavailable.js'
import { ApiError } from '../errors.js'

/** The header that carries the key, as Node names it. */
export const idempotencyHeader = 'idempotency-key'

/** An answer, and whether it was given before. */
export type ReplayableResponse = SerializedResponse & { readonly isReplay: boolean }

/**
 * Answers a request that carries a key: as the operation does, or as it was answered before.
 * Rejects with `idempotency_key_reused`, `idempotency_key_in_use`, or what the operation rejects with.
 */
export type AnswerOnce = (request: FastifyRequest, reply: FastifyReply) => Promise<ReplayableResponse>

/**
 * Makes an operation one that is done once for each key. `run` does it by statements of a transaction, and nothing else: it is
 * run again where that is rolled back.
 */
export type Once = (
  run: (request: FastifyRequest, reply: FastifyReply, sql: Sql) => Promise<SerializedResponse>,
) => AnswerOnce

// What the first one needs is milliseconds.
const retryAfterSeconds = 1

/** Exactly-once execution for one pool; answers are kept for `keepHours`. */
export function createIdempotent(pool: Holding, keepHours: number): Once {
  return (run) => {
    // Until one of its requests does more than can be shared.
    let isShared = true
    const answerTogether = async (held: HeldConnection, calls: readonly Call[]) => {
      try {
        return await answerAll(held, calls, keepHours)
      } catch (error) {
        if (error === notShared) isShared = false
        throw error
      }
    }
    const queue = new BatchQueue<HeldConnection, Call, ReplayableResponse | ApiError>(
      (use) => pool.hold(undefined, use),
      answerTogether,
    )
    const answerAlone = async (call: Call) => {
      const [answered] = await pool.hold(call.signal, (held) => answerAll(held, [call], keepHours))
      return answered as ReplayableResponse | ApiError // of the one call
    }
    return async (request, reply) => {
      const call = {
        id: { apiKeyId: BigInt(request.client?.keyId ?? 0), key: readKey(request) },
        fingerprint: fingerprintOf(request),
        signal: request.lifetime,
        run: (sql: Sql) => run(request, reply, sql),
      }
      const answered = await (isShared ? queue.add(call, call.signal) : answerAlone(call))
      if (answered instanceof ApiError) throw answered
      return answered
    }
  }
}

interface Call {
  readonly id: IdempotencyKey
  readonly fingerprint: Buffer
  readonly signal: Signal | undefined
  readonly run: (sql: Sql) => Promise<SerializedResponse>
}

async function answerAll(
  held: HeldConnection,
  calls: readonly Call[],
  keepHours: number,
): Promise<(ReplayableResponse | ApiError)[]> {
  return transact(held, whileAnyWaits(calls.map(({ signal }) => signal)), async (sql) => {
    const claims = await claim(
      sql,
      calls.map(({ id }) => id),
      keepHours,
    )
    const begun = new Set<string>()
    const known = claims.map(({ isLocked, kept }, i) => {
      const { id, fingerprint } = calls[i] as Call // each has one
      if (kept !== undefined) return fingerprint.equals(kept.fingerprint) ? replay(kept) : reused()
      const name = `${id.apiKeyId} ${id.key}`
      if (!isLocked || begun.has(name)) return inUse()
      begun.add(name)
      return undefined
    })
    const due = calls.filter((_, i) => known[i] === undefined)
    const answers = await runAll(sql, due)
    return known.map((each) => each ?? { ...(answers.shift() as SerializedResponse), isReplay: false })
  })
}

// Runs the operation for those that are due, and keeps the answers.
async function runAll(sql: TransactionSql, due: readonly Call[]): Promise<SerializedResponse[]> {
  const [first, ...others] = due
  if (first === undefined) return []
  const answers = others.length === 0 ? [await runAlone(sql, first)] : await runTogether(sql, due)
  const kept = due.flatMap(({ id, fingerprint }, i) => {
    const answer = answers[i] as SerializedResponse // each has one
    return answer.status < 500 ? [{ id, fingerprint, answer }] : []
  })
  if (kept.length > 0) sql.commitAfter(storeResponses(sql, kept))
  // Of those that share a transaction, none is done whose caller has been told by then that it is not.
  if (others.length > 0 && due.some(({ signal }) => signal?.aborted)) throw new Error('one has gone')
  return answers
}

// A request that is refused has done nothing, whatever it had begun. That also mends a transaction in which a
// statement failed and the handler made a refusal of it.
async function runAlone(transaction: TransactionSql, { run }: Call): Promise<SerializedResponse> {
  let refusal: SerializedResponse | undefined
  try {
    return await transaction.savepoint(async (sql) => {
      const answer = await run(sql)
      if (answer.status < 400) return answer
      refusal = answer
      throw new Error('refused')
    })
  } catch (error) {
    if (refusal === undefined) throw error
    return refusal
  }
}

// What one of them has begun cannot be undone without the others' work: where one is refused or fails, each is done alone. So it is where
// one does more than a batched statement: what it reads first would not be what another one is about to write, whatever it locks.
async function runTogether(sql: Sql, due: readonly Call[]): Promise<SerializedResponse[]> {
  let isMore = false
  const refuse = () => {
    isMore = true
    throw notShared
  }
  const settled = await Promise.allSettled(due.map(({ run }) => run(shareable(sql, refuse))))
  if (isMore) throw notShared
  const lost = settled.find((each) => each.status === 'rejected' && isUnavailable(each.reason))
  if (lost?.status === 'rejected') throw lost.reason
  return settled.map((each) => {
    if (each.status === 'rejected' || each.value.status >= 400) throw new Error('one was refused or failed')
    return each.value
  })
}

const notShared = new Error('more than one batched statement cannot share a transaction')

// The tag for one handler of several in a transaction, which can be shared once and do nothing else.
function shareable(sql: Sql, refuse: () => never): Sql {
  let isUsed = false
  const share = () => {
    if (isUsed) refuse()
    isUsed = true
    return sql
  }
  // Called or looked into, it is refused: the type is what a handler takes it for.
  return new Proxy(refuse as unknown as Sql, { get: (_, name) => (name === 'share' ? share : refuse()) })
}

function replay({ status, headers, body }: SerializedResponse): ReplayableResponse {
  return { status, headers, body, isReplay: true }
}

// Bare, or as a string of RFC 8941. The contract's pattern has let nothing else through.
function readKey({ headers }: FastifyRequest): string {
  const text = String(headers[idempotencyHeader])
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

// Of the body as it was understood: blanks and the order of fields say nothing.
function fingerprintOf({ method, url, body }: FastifyRequest): Buffer {
  const start = `${method} ${url}\n`
  if (!(body instanceof Uint8Array)) return hash('sha256', start + (stringify(body, inOrder) ?? ''), 'buffer')
  return hash('sha256', Buffer.concat([Buffer.from(start), body]), 'buffer')
}

function inOrder(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return hash('sha256', value)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}

function reused(): ApiError {
  return new ApiError('idempotency_key_reused', 'The Idempotency-Key belongs to another request.')
}

/** The first request with the key is under way: 409 with `Retry-After`. */
export function inUse(): ApiError {
  return new ApiError(
    'idempotency_key_in_use',
    'The first request with this Idempotency-Key is still under way.',
    {
      headers: { 'Retry-After': String(retryAfterSeconds) },
    },
  )
}

const purgeEveryMs = 60_000
const purgeBatch = 1_000

/** Removes what has grown too old, now and then, some at a time. */
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
