// Idempotency keys and the responses stored for them, in PostgreSQL.

import type { SerializedResponse } from 'contract-engine'
import type { Sql } from '../database/database.js'
import { writeJson } from '../database/driver/values.js'
import { inOrder, type Numbered, takeNumbers } from '../database/numbered.js'

/** An `Idempotency-Key` and whose it is. */
export interface IdempotencyKey {
  /** The id of an API key; below 1: of callers without one. */
  readonly apiKeyId: bigint
  readonly key: string
}

/** A response, with the fingerprint of its request in Base64 and the fingerprint's version. */
export interface StoredResponse extends SerializedResponse {
  readonly fingerprint: string
  readonly version: number
}

/** The result of claiming a key. */
export interface Claim {
  /** Whether this transaction holds the key's lock, until it ends. */
  readonly isLocked: boolean
  /** The response stored for the key. */
  readonly stored: StoredResponse | undefined
}

function toJson(keys: readonly IdempotencyKey[], first: number): string {
  return writeJson(
    keys.map(({ apiKeyId, key }, i) => ({ number: first + i, api_key_id: String(apiKeyId), key })),
  )
}

/** For each key, in order: tries to lock it, and looks up its response if that is at most `keepHours` old. */
export async function claimKeys(
  sql: Sql,
  keys: readonly IdempotencyKey[],
  keepHours: number,
): Promise<Claim[]> {
  const first = takeNumbers(keys.length)
  const requested = toJson(keys, first)
  // Pipelined in this order: a response that was stored before its lock was released is found. The locks last
  // until the transaction ends. They are by a 64-bit hash: in the unlikely case that two keys collide, the
  // second request gets 409 and retries.
  const [locks, responses] = await Promise.all([
    sql<LockRow[]>`
      select number, pg_try_advisory_xact_lock(hashtextextended(key, api_key_id)) as "isLocked"
      from json_to_recordset(${requested}::text::json)
        as requested (number integer, api_key_id bigint, key text)`,
    sql<StoredRow[]>`
      select number, status, headers, body, encode(fingerprint, 'base64') as fingerprint, version
      from json_to_recordset(${requested}::text::json)
        as requested (number integer, api_key_id bigint, key text)
      left join lateral (
        select status, headers, body, fingerprint, fingerprint_version as version
        from idempotent_answers
        where api_key_id = requested.api_key_id and idempotency_key = requested.key
          and created_at > now() - ${keepHours} * interval '1 hour'
        order by api_key_id, idempotency_key
        limit 1
      ) as stored on true`,
  ])
  const stored = inOrder(first, keys.length, responses)
  return inOrder(first, keys.length, locks).map(({ isLocked }, i) => ({
    isLocked,
    stored: responseOf(stored[i] as StoredRow), // one for each key
  }))
}

interface LockRow extends Numbered {
  readonly isLocked: boolean
}

// The columns are null of a key that has no response.
interface StoredRow extends Numbered {
  readonly status: number | null
  readonly headers: StoredResponse['headers']
  readonly body: Buffer | null
  readonly fingerprint: string
  readonly version: number
}

function responseOf({ status, headers, body, fingerprint, version }: StoredRow): StoredResponse | undefined {
  return status === null ? undefined : { status, headers, body: body ?? undefined, fingerprint, version }
}

interface NewResponse extends StoredResponse {
  readonly id: IdempotencyKey
}

/** Stores responses, each replacing an expired one of its key. The keys must differ. */
export function storeResponses(sql: Sql, responses: readonly NewResponse[]): Promise<unknown> {
  const rows = responses.map(({ id, fingerprint, version, status, headers, body }) => ({
    api_key_id: String(id.apiKeyId),
    idempotency_key: id.key,
    fingerprint,
    version,
    status,
    headers,
    // The engine refuses a stream for an operation whose responses are stored.
    body: body === undefined ? undefined : Buffer.from(body as string | Buffer).toString('base64'),
  }))
  return sql`
    insert into idempotent_answers
      (api_key_id, idempotency_key, fingerprint, fingerprint_version, status, headers, body)
    select
      api_key_id, idempotency_key, decode(fingerprint, 'base64'), version, status, headers,
      decode(body, 'base64')
    from json_to_recordset(${writeJson(rows)}::text::json) as responses (
      api_key_id bigint, idempotency_key text, fingerprint text, version smallint, status smallint,
      headers json, body text
    )
    on conflict (api_key_id, idempotency_key) do update
    set fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version,
      status = excluded.status, headers = excluded.headers, body = excluded.body,
      created_at = excluded.created_at`
}

/**
 * Deletes responses older than `keepHours`, the oldest first, at most `limit`, and returns how many. Several
 * instances may run it at once: each skips the rows that another has locked.
 */
export async function purgeResponses(sql: Sql, keepHours: number, limit: number): Promise<number> {
  const { count } = await sql`
    delete from idempotent_answers
    where ctid = any(array(
      select ctid
      from idempotent_answers
      where created_at <= now() - ${keepHours} * interval '1 hour'
      order by created_at
      limit ${limit}
      for update skip locked
    ))`
  return count
}
