// The kept answers in PostgreSQL.

import type { Sql } from './types.js'

/** Whose key it is, and the key. */
export interface IdempotencyKey {
  readonly apiKeyId: bigint
  readonly key: string
}

/** An answer as it goes out: its own headers alone, of a list each element, and the bytes of its body. */
export interface SerializedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Buffer | undefined
}

/** What is known of a key, and whose it is. */
export interface Claim {
  /** No one else does what the key is for until the transaction ends. */
  readonly isLocked: boolean
  /** The answer that is kept for it. */
  readonly kept: (SerializedResponse & { readonly fingerprint: Uint8Array }) | undefined
}

/** For each, in their order: tries to lock the key, and looks for an answer that is not older than so many hours. */
export async function claim(sql: Sql, ids: readonly IdempotencyKey[], keepHours: number): Promise<Claim[]> {
  const asked = JSON.stringify(
    ids.map(({ apiKeyId, key }, place) => ({ place, api_key_id: String(apiKeyId), key })),
  )
  // Both go out at once, in this order: what was kept before a lock was given back is seen.
  const [locks, kept] = await Promise.all([tryLocks(sql, asked), findAnswers(sql, asked, keepHours)])
  return locks.map((isLocked, place) => ({ isLocked, kept: kept.get(place) }))
}

async function tryLocks(sql: Sql, asked: string): Promise<boolean[]> {
  // Numbers that no other lock is likely to have.
  const rows = await sql<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(key, api_key_id)) as locked
    from json_to_recordset(${asked}::text::json) as asked (api_key_id bigint, key text)`
  return rows.map(({ locked }) => locked)
}

async function findAnswers(sql: Sql, asked: string, keepHours: number): Promise<Map<number, Claim['kept']>> {
  type Row = Omit<SerializedResponse, 'body'> & { body: Buffer | null; fingerprint: Uint8Array; place: number }
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
    ) as kept`
  return new Map(rows.map(({ place, body, ...kept }) => [place, { ...kept, body: body ?? undefined }]))
}

/** Keeps answers, each in place of one that has grown too old. No two may be for one key. */
export async function storeResponses(
  sql: Sql,
  answers: readonly { id: IdempotencyKey; fingerprint: Buffer; answer: SerializedResponse }[],
): Promise<void> {
  const rows = answers.map(({ id, fingerprint, answer: { status, headers, body } }) => ({
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
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as answers (
      api_key_id bigint, idempotency_key text, fingerprint text, status smallint, headers json, body text
    )
    on conflict (api_key_id, idempotency_key) do update
    set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
      body = excluded.body, created_at = excluded.created_at`
}

/**
 * Removes answers older than so many hours, the oldest first, so many at most; tells how many. Several may do so at
 * once: each passes over what another is at.
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
