// The kept answers in PostgreSQL.

import { createHash } from 'node:crypto'
import type { Sql } from './types.js'

/** Whose key it is, and the key. */
export interface AnswerId {
  readonly apiKeyId: bigint
  readonly key: string
}

/** An answer as it goes out: its own headers alone, and the bytes of its body. */
export interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** Has no one else do what the key is for until the transaction ends; false if someone does. */
export async function tryLock(sql: Sql, { apiKeyId, key }: AnswerId): Promise<boolean> {
  // Any number that no other lock is likely to have.
  const id = createHash('sha256').update(`${apiKeyId} ${key}`).digest().readBigInt64BE()
  const [row] = await sql<{ locked: boolean }[]>`select pg_try_advisory_xact_lock(${id}) as locked`
  return row?.locked === true
}

/** The answer that is kept for the key and not older than so many hours. */
export async function findAnswer(
  sql: Sql,
  { apiKeyId, key }: AnswerId,
  keepHours: number,
): Promise<(KeptAnswer & { fingerprint: Uint8Array }) | undefined> {
  type Row = Omit<KeptAnswer, 'body'> & { body: Buffer | null; fingerprint: Uint8Array }
  const [row] = await sql<Row[]>`
    select status, headers, body, fingerprint
    from idempotent_answers
    where api_key_id = ${apiKeyId} and idempotency_key = ${key}
      and created_at > now() - ${keepHours} * interval '1 hour'`
  return row && { ...row, body: row.body ?? undefined }
}

/** Keeps an answer, in place of one that has grown too old. */
export async function keepAnswer(
  sql: Sql,
  { apiKeyId, key }: AnswerId,
  fingerprint: Uint8Array,
  { status, headers, body }: KeptAnswer,
): Promise<void> {
  await sql`
    insert into idempotent_answers (api_key_id, idempotency_key, fingerprint, status, headers, body)
    values (${apiKeyId}, ${key}, ${fingerprint}, ${status}, ${sql.json(headers)}, ${body ?? null})
    on conflict (api_key_id, idempotency_key) do update
    set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
      body = excluded.body, created_at = excluded.created_at`
}

/**
 * Removes answers older than so many hours, the oldest first, so many at most; tells how many. Several may do so at
 * once: each passes over what another is at.
 */
export async function purgeAnswers(sql: Sql, keepHours: number, limit: number): Promise<number> {
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
