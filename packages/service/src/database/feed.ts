// A feed: the rows added to a table, in one order, for any number of readers. No reader misses a row, also if
// it goes on at another instance. Each instance asks the table once a second for all of its readers. After a
// full page it asks again as soon as one reader has taken the page.
//
// It polls, because LISTEN needs a connection of its own, which a pooler cannot give, and NOTIFY makes all
// commits wait for each other.

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { RequestError } from 'contract-engine'
import type { Logger } from 'pino'
import type { Pools, Sql } from './database.js'

/** An item that a reader gets. Its id is its position in the feed. */
export interface Item<Data> {
  readonly id: string
  readonly data: Data
}

/** The first thing a reader gets: the position to go on from if the stream is cut before its first item. */
export interface Beginning {
  readonly id: string
  readonly data?: undefined
}

/**
 * Reads up to `limit` items after the one with this id, in order. Fewer than `limit` means there are no more.
 */
export type Read<Data> = (sql: Sql, after: string, limit: number) => Promise<readonly Item<Data>[]>

export interface FeedOptions {
  readonly everyMs?: number
  /**
   * How many items the feed keeps in memory. A reader that is further behind reads pages of its own, so a
   * slow reader takes no memory.
   */
  readonly rememberedMax?: number
}

// How many readers to wake in one turn of the event loop, so that requests are served in between.
const perTurn = 16

// Items of a page for all readers, and of a reader's own page, of which each reader may hold one.
const pageMax = 1_000
const ownPageMax = 100

/** An item that the feed keeps, with its position as numbers. */
interface Kept<Data> {
  readonly item: Item<Data>
  readonly position: Position
}

/** The ids of PostgreSQL's transactions, and when they were read. */
interface Snapshot {
  /** All transactions before this one are over. */
  readonly first: bigint
  /** The next transaction to begin gets this id. */
  readonly next: bigint
  readonly at: number
}

/** A feed of one table. Without readers it reads nothing. */
export class Feed<Data> {
  readonly #readers = new Set<Reader>()
  readonly #everyMs: number
  readonly #rememberedMax: number
  #begun: Promise<void> | undefined
  #recent: Kept<Data>[] = []
  /** The position before the first item of `#recent`. */
  #floor = ''
  #isFailing = false
  #isClosed = false
  /** Ends the wait for the next page. */
  #wait = new AbortController()
  /** True if the last page was full. */
  #hasMore = false
  /** The feed has everything that was added before this time. Undefined while it has no readers. */
  #completeAt: number | undefined
  /** Once its transactions are over, the feed has everything that was added before this snapshot. */
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
   * How far the feed lags, at most: everything added earlier than this has been read. Usually a second or
   * two; more while the database is away, a long transaction holds up later ones, or readers are slow.
   * Undefined while the feed has no readers.
   */
  get delayMs(): number | undefined {
    return this.#completeAt === undefined ? undefined : performance.now() - this.#completeAt
  }

  /**
   * Yields the position where it begins, then the items after `id`, or new ones without `id`, until `signal`
   * is aborted.
   * @param sql the tag for a reader's own pages
   * @param read must be the same for all readers; handlers pass it, because services do not know the table
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
        if (!hasBegun) yield { id: after } // after the first read: until then an outage is an error response
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

  /** Ends the reading. */
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

  // Renews the wait before it wakes readers, because a reader may end the next wait.
  async #poll(read: Read<Data>): Promise<void> {
    while (this.#readers.size > 0 && !this.#isClosed) {
      await delay(this.#everyMs, undefined, this.#wait).catch(() => {})
      const items = this.#isClosed ? [] : await this.#news(read)
      if (this.#isClosed) break // closed meanwhile: the readers go on at another instance
      this.#wait = new AbortController()
      this.#hasMore = items.length >= pageMax
      this.#remember(items)
      if (items.length > 0) await this.#wakeAll()
    }
    this.#begun = undefined
    this.#completeAt = undefined
    this.#recent = []
  }

  // Logs the beginning and the end of an outage, each once.
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

  // Called after a page that was not full: everything that transactions before `first` have added has been
  // read.
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

  // Returns the kept items after a position, or undefined if the feed has forgotten some of them. A reader
  // that is ahead of this feed has read at another instance, and waits until this one follows.
  #remembered(after: string): readonly Item<Data>[] | undefined {
    const from = positionOf(after)
    if (isBefore(from, positionOf(this.#floor))) return undefined
    // From the end, where most readers are.
    const last = this.#recent.findLastIndex(({ position }) => !isBefore(from, position))
    return this.#recent.slice(last + 1).map(({ item }) => item)
  }
}

/** Sleeps until the feed has read something since this reader looked last. */
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

/** The position of an item: the transaction that added it, and its key. */
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

/** The part of a declared table (`table`) that a feed needs. */
interface Shown<Data> {
  readonly name: string
  shown(sql: Sql): ReturnType<Sql['unsafe']>
  isThere(sql: Sql): ReturnType<Sql['unsafe']>
  read(rows: readonly object[]): Data[]
}

/**
 * Returns a function that reads the rows of a table in the order in which their transactions began. It stops
 * before the first transaction in progress, which may still add rows. So no row is missed, even if it is
 * committed after a row with a higher key.
 * @param transaction the column of the transaction that added a row: an `xid8` with the default
 * `pg_current_xact_id()`
 * @param key a column with a unique bigint. The two columns need an index
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
