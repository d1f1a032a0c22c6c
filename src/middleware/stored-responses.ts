// Idempotency keys and the responses stored for them, in PostgreSQL.

import type { Sql } from '../database/database.js'
import type { SerializedResponse } from '../openapi/index.js'

/** An `Idempotency-Key` and the API key whose it is. */
export interface IdempotencyKey {
  readonly apiKeyId: bigint
  readonly key: string
}

/** The result of claiming a key. Fingerprints are in Base64. */
export interface Claim {
  /** Whether this transaction holds the key's lock, until it ends. */
  readonly isLocked: boolean
  /** The response stored for the key, with the fingerprint of its request. */
  readonly stored: (SerializedResponse & { readonly fingerprint: string }) | undefined
}

// Locks a key until the transaction ends, and is true if another transaction has. By a 64-bit hash: in the
// unlikely case that two keys collide, the second request gets 409 and retries.
const cannotLock = 'not pg_try_advisory_xact_lock(hashtextextended(key, api_key_id))'

function toJson(keys: readonly IdempotencyKey[]): string {
  return JSON.stringify(
    keys.map(({ apiKeyId, key }, position) => ({ position, api_key_id: String(apiKeyId), key })),
  )
}

/**
 * Locks keys that are all new. False if one has a response, however old, or is locked by another transaction.
 * A response that is stored between the start of the statement and its lock makes `storeNewResponses` reject.
 */
export async function claimNewKeys(sql: Sql, keys: readonly IdempotencyKey[]): Promise<boolean> {
  const rows = await sql`
    select true
    from json_to_recordset(${toJson(keys)}::text::json) as requested (api_key_id bigint, key text)
    where ${sql.unsafe(cannotLock)}
      or (
        select true
        from idempotent_answers
        where api_key_id = requested.api_key_id and idempotency_key = requested.key
        order by api_key_id, idempotency_key
        limit 1
      )`
  return rows.length === 0
}

/** For each key, in order: tries to lock it, and looks up its response if that is at most `keepHours` old. */
export async function claimKeys(
  sql: Sql,
  keys: readonly IdempotencyKey[],
  keepHours: number,
): Promise<Claim[]> {
  const requested = toJson(keys)
  // Pipelined in this order: a response that was stored before its lock was released is found.
  const [inUse, stored] = await Promise.all([
    lockKeys(sql, requested),
    findResponses(sql, requested, keepHours),
  ])
  return keys.map((_, position) => ({ isLocked: !inUse.has(position), stored: stored.get(position) }))
}

// Locks each key that is not in use, and returns the positions of the others.
async function lockKeys(sql: Sql, requested: string): Promise<Set<number>> {
  const rows = await sql<{ position: number }[]>`
    select position
    from json_to_recordset(${requested}::text::json)
      as requested (position integer, api_key_id bigint, key text)
    where ${sql.unsafe(cannotLock)}`
  return new Set(rows.map(({ position }) => position))
}

async function findResponses(
  sql: Sql,
  requested: string,
  keepHours: number,
): Promise<Map<number, Claim['stored']>> {
  type Row = Omit<SerializedResponse, 'body'> & {
    body: Buffer | null
    fingerprint: string
    position: number
  }
  const rows = await sql<Row[]>`
    select position, status, headers, body, encode(fingerprint, 'base64') as fingerprint
    from json_to_recordset(${requested}::text::json)
      as requested (position integer, api_key_id bigint, key text)
    cross join lateral (
      select status, headers, body, fingerprint
      from idempotent_answers
      where api_key_id = requested.api_key_id and idempotency_key = requested.key
        and created_at > now() - ${keepHours} * interval '1 hour'
      order by api_key_id, idempotency_key
      limit 1
    ) as stored`
  return new Map(
    rows.map(({ position, body, ...stored }) => [position, { ...stored, body: body ?? undefined }]),
  )
}

interface NewResponse {
  readonly id: IdempotencyKey
  /** In Base64. */
  readonly fingerprint: string
  readonly response: SerializedResponse
}

/** Stores responses, each replacing an expired one of its key. The keys must differ. */
export async function storeResponses(sql: Sql, responses: readonly NewResponse[]): Promise<void> {
  await sql`
    ${insertion(sql, responses)}
    on conflict (api_key_id, idempotency_key) do update
    set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
      body = excluded.body, created_at = excluded.created_at`
}

/** Stores responses of keys that are new; rejects if one is not. */
export async function storeNewResponses(sql: Sql, responses: readonly NewResponse[]): Promise<void> {
  await insertion(sql, responses)
}

function insertion(sql: Sql, responses: readonly NewResponse[]) {
  const rows = responses.map(({ id, fingerprint, response: { status, headers, body } }) => ({
    api_key_id: String(id.apiKeyId),
    idempotency_key: id.key,
    fingerprint,
    status,
    headers,
    body: body === undefined ? undefined : Buffer.from(body).toString('base64'),
  }))
  return sql`
    insert into idempotent_answers (api_key_id, idempotency_key, fingerprint, status, headers, body)
    select api_key_id, idempotency_key, decode(fingerprint, 'base64'), status, headers, decode(body, 'base64')
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as responses (
      api_key_id bigint, idempotency_key text, fingerprint text, status smallint, headers json, body text
    )`
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
