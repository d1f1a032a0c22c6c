// API keys in PostgreSQL. The table stores the hash of a key, never the key.

import { batched } from './batch.js'
import { begin } from './begin.js'
import type { RootSql, Sql } from './database.js'
import { writeArray } from './driver/values.js'

/** The stored fields that a request needs. Quotas are null if the plan sets them. */
export interface ClientKey {
  readonly id: bigint
  readonly plan: string
  readonly perMinute: number | null
  readonly perDay: number | null
  /** The scopes of the contract's security schemes that the key grants. */
  readonly scopes: readonly string[]
  readonly expiresAt: Date | null
}

/** All stored fields except the hash. */
export interface ApiKey extends ClientKey {
  readonly name: string
  readonly createdAt: Date
  /** The operator; null: the service itself, or unknown. */
  readonly createdBy: string | null
  readonly revokedAt: Date | null
  readonly revokedBy: string | null
}

export type NewApiKey = Omit<ApiKey, 'id' | 'createdAt' | 'revokedAt' | 'revokedBy'> & {
  /** SHA-256 in hex. */
  readonly hash: string
}

/** When a key was revoked, and by whom. */
export type Revocation = Pick<ApiKey, 'revokedBy'> & {
  readonly revokedAt: Date
  /** True if this call revoked the key, false if an earlier one did. */
  readonly isFirst: boolean
}

// A row of the table, with timestamps as strings.
type Stored<Key> = {
  readonly [Name in keyof Key]: Exclude<Key[Name], Date> | (Date extends Key[Name] ? string : never)
}

function toDate(time: string | null): Date | null {
  return time === null ? null : new Date(time)
}

/** Stores a key by its hash and returns its id. */
export async function insertApiKey(sql: Sql, key: NewApiKey): Promise<bigint> {
  const scopes = writeArray(key.scopes) // as text, which a connection without our array types can send, too
  const [row] = await sql<{ id: bigint }[]>`
    insert into api_keys (hash, name, plan, per_minute, per_day, scopes, expires_at, created_by)
    values (decode(${key.hash}, 'hex'), ${key.name}, ${key.plan},
      ${key.perMinute}, ${key.perDay}, ${scopes}::text::text[], ${key.expiresAt}, ${key.createdBy})
    returning id`
  return (row as { id: bigint }).id // an insert without a conflict clause returns its row
}

/** Stores a key if the table is empty, safely under concurrent calls. Returns true if it did. */
export async function insertFirstApiKey(sql: RootSql, key: NewApiKey): Promise<boolean> {
  return begin(sql, async (transaction) => {
    await transaction`lock table api_keys in share row exclusive mode`
    const keys = await transaction`select 1 from api_keys limit 1`
    if (keys.length === 0) await insertApiKey(transaction, key)
    return keys.length === 0
  })
}

/** Returns all keys, in order of creation. */
export async function listApiKeys(sql: Sql): Promise<ApiKey[]> {
  const rows = await sql<Stored<ApiKey>[]>`
    select id, name, plan, per_minute as "perMinute", per_day as "perDay", scopes,
           created_at as "createdAt", created_by as "createdBy", expires_at as "expiresAt",
           revoked_at as "revokedAt", revoked_by as "revokedBy"
    from api_keys
    order by id`
  return rows.map((row) => ({
    ...row,
    createdAt: new Date(row.createdAt),
    expiresAt: toDate(row.expiresAt),
    revokedAt: toDate(row.revokedAt),
  }))
}

/** Revokes a key permanently. A second call changes nothing. Returns undefined if the key does not exist. */
export async function revokeApiKey(sql: Sql, id: bigint, by: string): Promise<Revocation | undefined> {
  const revoked = await sql`
    update api_keys set revoked_at = now(), revoked_by = ${by} where id = ${id} and revoked_at is null
    returning id`
  const [row] = await sql<Stored<Omit<Revocation, 'isFirst'>>[]>`
    select revoked_at as "revokedAt", revoked_by as "revokedBy" from api_keys where id = ${id}`
  return row && { ...row, revokedAt: new Date(row.revokedAt), isFirst: revoked.length > 0 }
}

/**
 * Finds a key by its hash, unless it is revoked. The caller checks the expiry, by its own clock. Look-ups
 * share at most two statements in flight, however many keys somebody guesses.
 */
export const findClientKey = batched(findClientKeys)

// The ORDER BY makes PostgreSQL use the index: see `requestSettings`.
async function findClientKeys(sql: Sql, hashes: readonly string[]): Promise<(ClientKey | undefined)[]> {
  const wanted = hashes.map((hash) => `"\\\\x${hash}"`).join()
  const rows = await sql<(Stored<ClientKey> & Pick<NewApiKey, 'hash'>)[]>`
    select encode(hash, 'hex') as hash, id, plan, per_minute as "perMinute", per_day as "perDay",
           scopes, expires_at as "expiresAt"
    from api_keys
    where hash = any(${`{${wanted}}`}::bytea[]) and revoked_at is null
    order by api_keys.hash`
  const found = new Map(
    rows.map(({ hash, expiresAt, ...key }) => [hash, { ...key, expiresAt: toDate(expiresAt) }]),
  )
  return hashes.map((hash) => found.get(hash))
}

/**
 * Counts the valid keys of each plan, and separately those that have quotas of their own, with the lowest
 * quotas among them.
 */
export async function countPlans(
  sql: Sql,
): Promise<readonly (Pick<ClientKey, 'plan' | 'perMinute' | 'perDay'> & { readonly keys: number })[]> {
  return sql`
    select plan, min(per_minute) as "perMinute", min(per_day) as "perDay", count(*)::int as keys
    from api_keys
    where revoked_at is null and (expires_at is null or expires_at > now())
    group by plan, per_minute is null
    order by plan`
}
