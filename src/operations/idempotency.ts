// Requests that may arrive twice are done once (draft-ietf-httpapi-idempotency-key-header): the first answer is kept by the
// transaction that did what it tells of, and given again to whoever asks with the same key. The
// handler knows nothing of it.

import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { stringify } from 'lossless-json'
import type { Holding } from '../database/driver/sql.js'
import { type TransactionSql, transact } from '../database/driver/transaction.js'
import {
  findAnswer,
  type KeptAnswer,
  keepAnswer,
  purgeAnswers,
  tryLock,
} from '../database/idempotency-keys.js'
import type { Sql } from '../database/types.js'
import { ApiError } from '../errors.js'

/** The header that carries the key, as Node names it. */
export const idempotencyHeader = 'idempotency-key'

/**
 * Answers a request that carries a key: as `run` does, by statements of one transaction, or as it was answered before.
 * Rejects with `idempotency_key_reused`, `idempotency_key_in_use`, or what `run` rejects with.
 */
export type Once = (
  request: FastifyRequest,
  run: (sql: Sql) => Promise<KeptAnswer>,
) => Promise<KeptAnswer & { readonly isReplay: boolean }>

// What the first one needs is milliseconds.
const retryAfterSeconds = 1

/** Exactly-once execution for one pool; answers are kept for `keepHours`. */
export function createOnce(pool: Holding, keepHours: number): Once {
  return async (request, run) => {
    const id = { apiKeyId: BigInt(request.client?.keyId ?? 0), key: readKey(request) }
    const fingerprint = fingerprintOf(request)
    return transact(pool, request.lifetime, async (transaction) => {
      // Both go out at once, in this order: what was kept before the lock was given back is seen.
      const [isAlone, kept] = await Promise.all([
        tryLock(transaction, id),
        findAnswer(transaction, id, keepHours),
      ])
      if (kept !== undefined && !fingerprint.equals(kept.fingerprint)) throw reused()
      if (kept !== undefined) return { ...kept, isReplay: true }
      if (!isAlone) throw inUse()
      const answer = await attempt(transaction, run)
      if (answer.status < 500) await keepAnswer(transaction, id, fingerprint, answer)
      return { ...answer, isReplay: false }
    })
  }
}

// A request that is refused has done nothing, whatever it had begun. That also mends a transaction in which a
// statement failed and the handler made a refusal of it.
async function attempt(
  transaction: TransactionSql,
  run: (sql: Sql) => Promise<KeptAnswer>,
): Promise<KeptAnswer> {
  let refusal: KeptAnswer | undefined
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

// Bare, or as a string of RFC 8941. The contract's pattern has let nothing else through.
function readKey({ headers }: FastifyRequest): string {
  const text = String(headers[idempotencyHeader])
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

// Of the body as it was understood: blanks and the order of fields say nothing.
function fingerprintOf({ method, url, body }: FastifyRequest): Buffer {
  const hash = createHash('sha256').update(`${method} ${url}\n`)
  return hash.update(body instanceof Uint8Array ? body : (stringify(body, inOrder) ?? '')).digest()
}

function inOrder(_key: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}

function reused(): ApiError {
  return new ApiError('idempotency_key_reused', 'The Idempotency-Key belongs to another request.')
}

function inUse(): ApiError {
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
    while ((await purgeAnswers(sql, keepHours, purgeBatch)) === purgeBatch);
  }
  const timer = setInterval(() => void purge().catch(onError), purgeEveryMs).unref()
  return { stop: () => clearInterval(timer) }
}
