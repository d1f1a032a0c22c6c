// Idempotency keys and their stored responses, in PostgreSQL.

import type { Sql } from './types.js'

/** A key, and the API key of the client that sent it. */
export interface IdempotencyKey {
  readonly apiKeyId: bigint
  readonly key: string
}

/** A response as it is sent: the handler's headers, with each element of a list, and the bytes of the body. */
export interface SerializedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Buffer | undefined
}

/** The state of a key. */
export interface Claim {
  /** This transaction has the lock on the key until it ends. */
  readonly isLocked: boolean
  /** The response that an earlier request has stored. */
  readonly stored: (SerializedResponse & { readonly fingerprint: Uint8Array }) | undefined
}

/** Tries to lock each key, and looks for a response not older than `keepHours`. Returns a claim for each, in order. */
export async function claim(sql: Sql, ids: readonly IdempotencyKey[], keepHours: number): Promise<Claim[]> {
  const asked = JSON.stringify(
    ids.map(({ apiKeyId, key }, place) => ({ place, api_key_id: String(apiKeyId), key })),
  )
  // Pipelined in this order: the second statement sees every response stored before a lock was released.
  const [locks, stored] = await Promise.all([tryLocks(sql, asked), findResponses(sql, asked, keepHours)])
  return locks.map((isLocked, place) => ({ isLocked, stored: stored.get(place) }))
}

async function tryLocks(sql: Sql, asked: string): Promise<boolean[]> {
  // A hash of the key is unlikely to equal the number of another advisory lock.
  const rows = await sql<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(key, api_key_id)) as locked
    from json_to_recordset(${asked}::text::json) as asked (api_key_id bigint, key text)`
  return rows.map(({ locked }) => locked)
}

async function findResponses(
  sql: Sql,
  asked: string,
  keepHours: number,
): Promise<Map<number, Claim['stored']>> {
  type Row = Omit<SerializedResponse, 'body'> & {
    body: Buffer | null
    fingerprint: Uint8Array
    place: number
  }
  const rows = await sql<Row[]>`
    select place, status, headers, body, fingerprint
    from json_to_recordset(${asked}::text::json) as asked (place integer, api_key_id bigint, key text)
    cross join lateral (
      select status, headers, body, fingerprint
      from idempotent_answers
      where api_key_id = asked.api_key_id and idempotency_key = asked.key
        and created_at > now() - ${keepHours} * interval '1 hour'
      order by api_key_id, idempotency_key
      limit 1
    ) as stored`
  return new Map(rows.map(({ place, body, ...stored }) => [place, { ...stored, body: body ?? undefined }]))
}

/** Stores responses, replacing expired ones. No two may have the same key. */
export async function storeResponses(
  sql: Sql,
  responses: readonly { id: IdempotencyKey; fingerprint: Buffer; response: SerializedResponse }[],
): Promise<void> {
  const rows = responses.map(({ id, fingerprint, response: { status, headers, body } }) => ({
    api_key_id: String(id.apiKeyId),
    idempotency_key: id.key,
    fingerprint: fingerprint.toString('base64'),
    status,
    headers,
    body: body?.toString('base64'),
  }))
  await sql`
    insert into idempotent_answers (api_key_id, idempotency_key, fingerprint, status, headers, body)
    select api_key_id, idempotency_key, decode(fingerprint, 'base64'), status, headers, decode(body, 'base64')
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as responses (
      api_key_id bigint, idempotency_key text, fingerprint text, status smallint, headers json, body text
    )
    on conflict (api_key_id, idempotency_key) do update
    set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
      body = excluded.body, created_at = excluded.created_at`
}

/**
 * Deletes responses older than `keepHours`, the oldest first, at most `limit`. Returns how many. Instances may run it at the same
 * time: each skips the rows that another has locked.
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
