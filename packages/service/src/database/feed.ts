// A feed: what is added to a table, for any number of readers, who miss nothing. Once a second an instance
// reads what is new for all its readers, and behind a full page as soon as one of them has taken it; each
// instance asks by itself, and a reader may go on at another one.
//
// By polls, not LISTEN: that takes a connection of its own, which a pooler has none of, and NOTIFY has all
// commits wait for each other.

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { RequestError } from 'contract-engine'
import type { Logger } from 'pino'
import type { Pools, Sql } from './database.js'

/** What a reader gets. Its id is its position in the feed. */
export interface Item<Data> {
  readonly id: string
  readonly data: Data
}

/** Where a reader begins, if nothing comes before it is cut: it goes on behind this id. */
export interface Beginning {
  readonly id: string
  readonly data?: undefined
}

/** Reads the items behind the one with this id, in order: up to `limit`, fewer if there are no more. */
export type Read<Data> = (sql: Sql, after: string, limit: number) => Promise<readonly Item<Data>[]>

export interface FeedOptions {
  readonly everyMs?: number
  /**
   * How many items are kept. A reader who is further behind reads pages of its own, so that a slow one takes
   * no memory.
   */
  readonly rememberedMax?: number
}

// Readers woken in one turn of the event loop: requests are served in between.
const perTurn = 16

// Items of a page: of one for all readers, and of one that a reader has for itself, which each may hold.
const pageMax = 1_000
const ownPageMax = 100

/** An item that is kept, with its position as numbers. */
interface Kept<Data> {
  readonly item: Item<Data>
  readonly position: Position
}

/** What PostgreSQL says of transactions, and when it was asked. */
interface Snapshot {
  /** All before this one are over. */
  readonly first: bigint
  /** That of the next one to begin. */
  readonly next: bigint
  readonly at: number
}

/** A feed of one table, which reads nothing without readers. */
export class Feed<Data> {
  readonly #readers = new Set<Reader>()
  readonly #everyMs: number
  readonly #rememberedMax: number
  #begun: Promise<void> | undefined
  #recent: Kept<Data>[] = []
  /** The position before them. */
  #floor = ''
  #isFailing = false
  #isClosed = false
  /** Ends the wait for the next page. */
  #wait = new AbortController()
  /** Whether the last page was full. */
  #hasMore = false
  /** When the feed was known to have all that was added before; undefined while nobody reads. */
  #completeAt: number | undefined
  /** What has to be over for the feed to have all that was added before it was taken. */
  #pending: Snapshot | undefined

  constructor(
    readonly pools: Pick<Pools, 'reads'>,
    readonly log: Pick<Logger, 'info' | 'warn'>,
    { everyMs = 1_000, rememberedMax = 1_000 }: FeedOptions = {},
  ) {
    this.#everyMs = everyMs
    this.#rememberedMax = rememberedMax
  }

  /**
   * How long ago it is that something could be added which has not been read yet, at most: a second or two,
   * unless the database is away, a long transaction holds up what others have added, or readers are slow.
   * Undefined while there are none.
   */
  get delayMs(): number | undefined {
    return this.#completeAt === undefined ? undefined : performance.now() - this.#completeAt
  }

  /**
   * Where it begins, then the items behind the one with this id, or those to come, until `signal` is aborted.
   * @param sql for a reader's own pages
   * @param read the same for all readers: handlers know the table, and services do not
   */
  async *since(
    sql: Sql,
    read: Read<Data>,
    id: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Beginning | Item<Data>, void, undefined> {
    const reader = new Reader()
    const onAbort = () => reader.wake()
    this.#readers.add(reader)
    signal.addEventListener('abort', onAbort)
    try {
      await this.#begin(read)
      let after = id ?? this.#last
      for (let hasBegun = false; !signal.aborted; hasBegun = true) {
        reader.looks()
        const items = this.#remembered(after) ?? (await read(sql, after, ownPageMax))
        if (!hasBegun) yield { id: after } // once it has read: until then an outage is a response of its own
        yield* items
        after = items.at(-1)?.id ?? after
        if (items.length > 0 || signal.aborted) continue
        if (this.#hasMore) this.#wait.abort()
        await reader.woken()
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#readers.delete(reader)
    }
  }

  /** Reads no more. */
  close(): void {
    this.#isClosed = true
    this.#wait.abort()
  }

  get #last(): string {
    return this.#recent.at(-1)?.item.id ?? this.#floor
  }

  async #begin(read: Read<Data>): Promise<void> {
    this.#begun ??= this.#beginNow(read)
    try {
      await this.#begun
    } catch (error) {
      this.#begun = undefined
      throw error
    }
  }

  async #beginNow(read: Read<Data>): Promise<void> {
    const now = await this.#snapshot()
    this.#floor = `${now.first}-0`
    this.#completeAt = now.at
    this.#pending = now
    void this.#poll(read)
  }

  // The wait is the next one's before readers are woken, who may end it.
  async #poll(read: Read<Data>): Promise<void> {
    while (this.#readers.size > 0 && !this.#isClosed) {
      await delay(this.#everyMs, undefined, this.#wait).catch(() => {})
      const items = this.#isClosed ? [] : await this.#news(read)
      if (this.#isClosed) break // meanwhile: its readers go on elsewhere
      this.#wait = new AbortController()
      this.#hasMore = items.length >= pageMax
      this.#remember(items)
      if (items.length > 0) await this.#wakeAll()
    }
    this.#begun = undefined
    this.#completeAt = undefined
    this.#recent = []
  }

  // An outage is told once, and its end.
  async #news(read: Read<Data>): Promise<readonly Item<Data>[]> {
    try {
      const before = await this.#snapshot()
      const items = await read(this.pools.reads.sql, this.#last, pageMax)
      if (items.length < pageMax) this.#noteComplete(before)
      if (this.#isFailing) this.log.info('feed read again')
      this.#isFailing = false
      return items
    } catch (err) {
      if (!this.#isFailing) this.log.warn({ err }, 'feed not read')
      this.#isFailing = true
      return []
    }
  }

  async #snapshot(): Promise<Snapshot> {
    const at = performance.now()
    const [row] = await this.pools.reads.sql`
      select pg_snapshot_xmin(now)::text as first, pg_snapshot_xmax(now)::text as next
      from pg_current_snapshot() as now`
    return { first: BigInt(row?.first), next: BigInt(row?.next), at }
  }

  // All that transactions before `first` have added has been read.
  #noteComplete(now: Snapshot): void {
    const { first, next, at } = now
    if (this.#pending !== undefined && first < this.#pending.next) return
    this.#completeAt = first === next ? at : this.#pending?.at
    this.#pending = now
  }

  #remember(items: readonly Item<Data>[]): void {
    for (const item of items) this.#recent.push({ item, position: positionOf(item.id) })
    const forgotten = this.#recent.splice(0, this.#recent.length - this.#rememberedMax)
    this.#floor = forgotten.at(-1)?.item.id ?? this.#floor
  }

  async #wakeAll(): Promise<void> {
    let woken = 0
    for (const reader of this.#readers) {
      if (++woken % perTurn === 0) await nextTurn()
      reader.wake()
    }
  }

  // Undefined where others may have been before them. Who is ahead has read at another instance: this one
  // follows.
  #remembered(after: string): readonly Item<Data>[] | undefined {
    const from = positionOf(after)
    if (isBefore(from, positionOf(this.#floor))) return undefined
    // Most are at the end.
    const last = this.#recent.findLastIndex(({ position }) => !isBefore(from, position))
    return this.#recent.slice(last + 1).map(({ item }) => item)
  }
}

/** Waits for what has come since it has looked last. */
class Reader {
  #isAwake = false
  #resolve = () => {}

  looks(): void {
    this.#isAwake = false
  }

  wake(): void {
    this.#isAwake = true
    this.#resolve()
  }

  woken(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isAwake) resolve()
      else this.#resolve = resolve
    })
  }
}

/** Where an item is: the transaction that added it, and its key. */
interface Position {
  readonly transaction: bigint
  readonly key: bigint
}

function positionOf(id: string): Position {
  const [, transaction, key] = /^(\d{1,20})-(-?\d{1,19})$/.exec(id) ?? []
  if (transaction === undefined || key === undefined) throw notOfAFeed()
  const position = { transaction: BigInt(transaction), key: BigInt(key) }
  const isStorable = BigInt.asUintN(64, position.transaction) === position.transaction
  if (!isStorable || BigInt.asIntN(64, position.key) !== position.key) throw notOfAFeed()
  return position
}

function notOfAFeed(): RequestError {
  return new RequestError('invalid_request', 'header.Last-Event-ID must be the id of an event of this feed')
}

function isBefore(a: Position, b: Position): boolean {
  return a.transaction < b.transaction || (a.transaction === b.transaction && a.key < b.key)
}

/** A table, as `table` declares it. */
interface Shown<Data> {
  readonly name: string
  shown(sql: Sql): ReturnType<Sql['unsafe']>
  isThere(sql: Sql): ReturnType<Sql['unsafe']>
  read(rows: readonly object[]): Data[]
}

/**
 * Returns what reads the rows of a table in the order in which their transactions began, up to the first in
 * progress, which may add some before others: a row may be committed after one with a higher key, and none is
 * missed.
 * @param transaction the column (`xid8`, by default `pg_current_xact_id()`) of the transaction that added a
 * row
 * @param key that of a unique bigint. An index on both is needed
 */
export function additionsTo<Data>(
  { name, shown, isThere, read }: Shown<Data>,
  { transaction = 'added_in', key = 'id' }: { readonly transaction?: string; readonly key?: string } = {},
): Read<Data> {
  return async (sql, after, limit) => {
    const from = positionOf(after)
    const [added, unique] = [sql(`rows.${transaction}`), sql(`rows.${key}`)]
    const begun = String(from.transaction)
    const rows = await sql`
      select ${shown(sql)}, ${added} || '-' || ${unique} as "position in the feed"
      from ${sql(name)} as rows
      where ${added} >= ${begun}::xid8
        and (${added} > ${begun}::xid8 or ${unique} > ${from.key}::bigint)
        and ${added} < pg_snapshot_xmin(pg_current_snapshot())
        and ${isThere(sql)}
      order by ${added}, ${unique}
      limit ${limit}`
    return read(rows).map((data, i) => ({ id: String(rows[i]?.['position in the feed']), data }))
  }
}
