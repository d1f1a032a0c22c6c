// Idempotency keys and their stored responses in PostgreSQL. The transaction of a request also claims its key
// and stores the response. A later request with the same key gets that response, so a client whose response
// was lost can repeat a creation without a second animal.

import type { RequestError, SerializedResponse } from 'contract-engine'
import type { Sql } from '../database/database.js'
import type { TransactionSql } from '../database/driver/transaction.js'
import { writeJson } from '../database/driver/values.js'
import { inOrder, type Numbered, takeNumbers } from '../database/numbered.js'
import { currentVersion } from './fingerprints.js'
import { incomparable, inUse, replayedHeader, reused } from './idempotency-errors.js'

/** An `Idempotency-Key` with its owner. */
export interface IdempotencyKey {
  /** The id of an API key, a bigint in digits. Below 1 for callers without one. */
  readonly apiKeyId: string
  readonly key: string
}

/** A request with an `Idempotency-Key`. */
export interface KeyedRequest {
  readonly id: IdempotencyKey
  /** The fingerprint in the current version, which is stored. */
  readonly fingerprint: string
  readonly fingerprintAs: (version: number) => string | undefined
}

/** A response, or why a key has none. */
export type Outcome = SerializedResponse | RequestError

/** A response, with the fingerprint of its request in Base64 and the fingerprint's version. */
export interface StoredResponse extends SerializedResponse {
  readonly fingerprint: string
  readonly version: number
}

/** The result of claiming a key. */
export interface Claim {
  /** True if this transaction holds the key's lock. It holds the lock until it ends. */
  readonly isLocked: boolean
  /** The response stored for the key. */
  readonly stored: StoredResponse | undefined
}

/** A request that may have an `Idempotency-Key`. */
interface Call {
  readonly keyed: KeyedRequest | undefined
}

/**
 * Claims the keys of calls until the transaction ends.
 * @returns the known outcomes: the stored response of the first request with the key,
 * `idempotency_key_reused` or `idempotency_key_in_use`. A call without an outcome has claimed its key, or has
 * no key
 */
export async function claim<AnyCall extends Call>(
  sql: Sql,
  calls: readonly AnyCall[],
  keepHours: number,
): Promise<Map<AnyCall, Outcome>> {
  const known = new Map<AnyCall, Outcome>()
  const keyed = calls.filter(hasKey)
  const ids = keyed.map((call) => call.keyed.id)
  const claims = await claimKeys(sql, ids, keepHours)
  const claimed = new Set<string>()
  keyed.forEach((call, i) => {
    const { isLocked, stored } = claims[i] as Claim // there is one for each key
    const { apiKeyId, key } = call.keyed.id
    const name = `${apiKeyId} ${key}`
    if (stored !== undefined && !isPrecondition(stored)) known.set(call, outcomeOf(stored, call.keyed))
    else if (!isLocked || claimed.has(name)) known.set(call, inUse())
    else claimed.add(name)
  })
  return known
}

function hasKey<AnyCall extends Call>(call: AnyCall): call is AnyCall & { readonly keyed: KeyedRequest } {
  return call.keyed !== undefined
}

function outcomeOf(stored: StoredResponse, request: KeyedRequest): Outcome {
  const { version } = stored
  const fingerprint = version === currentVersion ? request.fingerprint : request.fingerprintAs(version)
  if (fingerprint === undefined) return incomparable()
  return fingerprint === stored.fingerprint ? replay(stored) : reused()
}

// True for a response to a request that did nothing, because its client had to read again first (RFC 9110,
// section 13.2.1). The client may repeat the request with the same key. Earlier releases have stored such
// responses.
function isPrecondition({ status }: SerializedResponse): boolean {
  return status === 412 || status === 428
}

/**
 * Stores, with the COMMIT of the transaction, the responses of calls that have claimed their keys. Leaves out
 * 5xx, and responses to unmet preconditions.
 * @param responses one for each call
 */
export function store(
  sql: TransactionSql,
  calls: readonly Call[],
  responses: readonly SerializedResponse[],
): void {
  const rows: NewResponse[] = []
  calls.forEach(({ keyed }, i) => {
    const response = responses[i] as SerializedResponse
    if (keyed !== undefined && response.status < 500 && !isPrecondition(response))
      rows.push(newResponse(keyed, response))
  })
  if (rows.length > 0) sql.commitAfter(storeResponses(sql, rows))
}

function replay({ status, headers, body }: SerializedResponse): SerializedResponse {
  return { status, headers: { ...headers, ...replayedHeader }, body }
}

/**
 * Tries to lock each key, and looks up its response, unless that is older than `keepHours`. Keeps the order.
 */
export async function claimKeys(
  sql: Sql,
  keys: readonly IdempotencyKey[],
  keepHours: number,
): Promise<Claim[]> {
  const requested = writeJson(keys)
  const first = takeNumbers(keys.length)
  // Pipelined in this order, so that the second statement finds a response that was stored before its lock
  // was released. The locks last until the transaction ends. They use a 64-bit hash: in the unlikely case
  // that two keys collide, the second request gets 409 and retries.
  const [locks, responses] = await Promise.all([
    sql<Numbered[]>`
      select (${first}::integer + ordinal - 1)::integer as number
      from rows from (json_to_recordset(${requested}::text::json) as ("apiKeyId" bigint, key text))
        with ordinality as requested (api_key_id, key, ordinal)
      where pg_try_advisory_xact_lock(hashtextextended(key, api_key_id))`,
    sql<StoredRow[]>`
      select (${first}::integer + ordinal - 1)::integer as number, status, headers, body,
        encode(fingerprint, 'base64') as fingerprint, version
      from rows from (json_to_recordset(${requested}::text::json) as ("apiKeyId" bigint, key text))
        with ordinality as requested (api_key_id, key, ordinal)
      left join lateral (
        select status, headers, body, fingerprint, fingerprint_version as version
        from idempotent_answers
        where api_key_id = requested.api_key_id and idempotency_key = requested.key
          and created_at > now() - ${keepHours} * interval '1 hour'
        order by api_key_id, idempotency_key
        limit 1
      ) as stored on true`,
  ])
  const rows = inOrder(first, keys.length, responses)
  const locked = new Set(locks.map(({ number }) => number))
  return rows.map((row) => ({ isLocked: locked.has(row.number), stored: responseOf(row) }))
}

// The columns are null for a key without a response.
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

/** A response to store, in the form of the statement's JSON. */
interface NewResponse extends IdempotencyKey {
  readonly fingerprint: string
  readonly version: number
  readonly status: number
  readonly headers: SerializedResponse['headers']
  /** In Base64. */
  readonly body: string | undefined
}

function newResponse({ id, fingerprint }: KeyedRequest, response: SerializedResponse): NewResponse {
  const { apiKeyId, key } = id
  const { status, headers, body } = response
  // The body is no stream: the engine refuses streams for operations whose responses are stored.
  const bytes = body === undefined ? undefined : Buffer.from(body as string | Buffer).toString('base64')
  return { apiKeyId, key, fingerprint, version: currentVersion, status, headers, body: bytes }
}

/** Stores responses. Each replaces an expired response of its key. The keys must differ. */
export function storeResponses(sql: Sql, responses: readonly NewResponse[]): Promise<unknown> {
  return sql`
    insert into idempotent_answers
      (api_key_id, idempotency_key, fingerprint, fingerprint_version, status, headers, body)
    select
      "apiKeyId", key, decode(fingerprint, 'base64'), version, status, headers,
      decode(body, 'base64')
    from json_to_recordset(${writeJson(responses)}::text::json) as responses (
      "apiKeyId" bigint, key text, fingerprint text, version smallint, status smallint,
      headers json, body text
    )
    on conflict (api_key_id, idempotency_key) do update
    set fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version,
      status = excluded.status, headers = excluded.headers, body = excluded.body,
      created_at = excluded.created_at`
}

/**
 * Deletes at most `limit` responses older than `keepHours`, the oldest first, and returns their number.
 * Several instances may run it at once: each skips rows that another has locked.
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
