// A feed on a test's table: a reader misses nothing, however late a row is committed, and on whichever
// instance.

import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import type { Pools, RootSql, Sql } from '../../src/database/database.js'
import {
  additionsTo,
  type Beginning,
  Feed,
  type FeedOptions,
  type Item,
  type Read,
} from '../../src/database/feed.js'
import { int8, text } from '../../src/database/table/columns.js'
import { table } from '../../src/database/table/table.js'
import { createDatabase, openPools } from '../fixtures/service.js'

interface Toy {
  readonly id: bigint
  readonly name: string
}

const toys = table<Toy, Pick<Toy, 'name'>>('toys', {
  shows: { id: int8(), name: text() },
  takes: { name: text() },
})

const soon = { everyMs: 5 }

interface Store {
  readonly sql: RootSql
  readonly pools: Pools
  add(...names: string[]): Promise<void>
  /** Waits until no transaction of another database holds the feed's position back behind the added rows. */
  passed(): Promise<void>
}

async function createToys(t: Test): Promise<Store> {
  const sql = await createDatabase(t)
  await sql`create table toys (
    id bigint generated always as identity primary key,
    name text not null,
    added_in xid8 not null default pg_current_xact_id()
  )`
  await sql`create index toys_added_in on toys (added_in, id)`
  const pools = await openPools(t, sql)
  const add = async (...names: string[]) => {
    for (const name of names) await sql`insert into toys (name) values (${name})`
  }
  const passed = () =>
    until(async () => {
      const [row] =
        await sql`select max(added_in) < pg_snapshot_xmin(pg_current_snapshot()) as "isPassed" from toys`
      return row?.isPassed === true
    })
  return { sql, pools, add, passed }
}

/** A feed, and the functions that the test reads it with. */
interface Followed {
  since(
    sql: Sql,
    id: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Beginning | Item<Toy>, void, undefined>
  readonly delayMs: number | undefined
  close(): void
}

/** Starts a feed; also returns the number of its reads, and its log lines. */
function startFeed(t: Test, pools: Pools, options: FeedOptions = soon, read: Read<Toy> = additionsTo(toys)) {
  const seen = { reads: 0, lines: [] as string[] }
  const note = (level: string) => (_: unknown, text?: string) =>
    void seen.lines.push(`${level} ${text ?? String(_)}`)
  const counted: Read<Toy> = (sql, after, limit) => {
    seen.reads++
    return read(sql, after, limit)
  }
  const shared = new Feed<Toy>(pools, { info: note('info'), warn: note('warn') }, options)
  t.teardown(() => shared.close())
  const feed: Followed = {
    since: (sql, id, signal) => shared.since(sql, counted, id, signal),
    get delayMs() {
      return shared.delayMs
    },
    close: () => shared.close(),
  }
  return { feed, seen }
}

/** Starts a reader, which returns item by item. */
function readerOf(t: Test, feed: Followed, { reads }: Pools, id?: string) {
  const leaving = new AbortController()
  const items = feed.since(reads.sql, id, leaving.signal)
  t.teardown(() => leaving.abort())
  const next = async (): Promise<Item<Toy>> => {
    const { value, done } = await items.next()
    if (done) throw new Error('the feed has ended')
    return value.data === undefined ? next() : value // the feed first sends its position
  }
  const names = async (count: number) => {
    const found: string[] = []
    for (let i = 0; i < count; i++) found.push((await next()).data.name)
    return found
  }
  return { items, next, names, leave: () => leaving.abort() }
}

// Starts a reader, and lets it read everything that was added since the feed began.
async function atEnd(t: Test, feed: Followed, store: Store) {
  const [now] = await store.sql`select pg_snapshot_xmin(pg_current_snapshot()) || '-0' as id`
  const reader = readerOf(t, feed, store.pools, String(now?.id))
  await store.add('begun')
  // A transaction of another database may have held the position back.
  while ((await reader.next()).data.name !== 'begun');
  await store.add('first')
  return { reader, first: await reader.next() }
}

t.test('a reader without a position gets what is added from then on', async (t) => {
  const store = await createToys(t)
  await store.add('old')
  await store.passed()
  const { feed } = startFeed(t, store.pools)
  let first: Item<Toy> | undefined
  const reading = readerOf(t, feed, store.pools).next()
  void reading.then((item) => {
    first = item
  })
  while (first === undefined) await store.add('new') // until the reader has begun
  t.match(first, { data: { name: 'new' } })
})

t.test('a reader that is cut before its first item goes on where it began', async (t) => {
  const store = await createToys(t)
  const others = await openPools(t, store.sql)
  await store.add('old')
  await store.passed()
  const { feed } = startFeed(t, store.pools)
  const reader = readerOf(t, feed, store.pools)
  const { value } = await reader.items.next()
  t.match(value, { id: /^\d+-0$/, data: undefined })
  t.strictSame(Object.keys(value ?? {}), ['id'])
  await reader.items.return()
  await store.add('while away')
  for (const pools of [store.pools, others]) {
    const { feed } = startFeed(t, pools)
    const again = readerOf(t, feed, pools, value?.id)
    t.strictSame((await again.items.next()).value, { id: value?.id }, 'and is told where it goes on')
    t.strictSame(await again.names(1), ['while away'])
  }
})

t.test('an id that is none of an event is refused', async (t) => {
  const store = await createToys(t)
  const { feed } = startFeed(t, store.pools)
  for (const id of [
    '',
    'x',
    '7',
    '1-',
    '-1',
    '1-x',
    '1-2-3',
    '18446744073709551616-0',
    '1-9223372036854775808',
  ])
    await t.rejects(
      readerOf(t, feed, store.pools, id).next(),
      { code: 'invalid_request', statusCode: 400 },
      id,
    )
  t.match(
    (await readerOf(t, feed, store.pools, '0--1').items.next()).value,
    { id: '0--1' },
    'a key may be negative',
  )
})

t.test('a full page is followed at once: readers wait for what is new, not for what is there', async (t) => {
  const store = await createToys(t)
  const { feed, seen } = startFeed(t, store.pools, { everyMs: 1_000 })
  const reader = readerOf(t, feed, store.pools)
  await reader.items.next()
  await store.sql`insert into toys (name) select i from generate_series(1, 20500) as i`
  const began = performance.now()
  const names = await reader.names(20_500)
  const tookMs = performance.now() - began
  t.strictSame(
    names,
    Array.from({ length: 20_500 }, (_, i) => String(i + 1)),
  )
  t.ok(tookMs < 15_000, `${tookMs} ms, in place of a second for each of 20 pages`)
  t.ok(seen.reads < 40, `${seen.reads} pages, which all readers share`)
})

t.test('a reader that is behind holds a hundred rows, and one that keeps up shares a page', async (t) => {
  const store = await createToys(t)
  const added = additionsTo(toys)
  const sizes = new Set<number>()
  const { feed } = startFeed(t, store.pools, soon, async (sql, after, limit) => {
    const items = await added(sql, after, limit)
    if (sql !== store.pools.reads.sql) sizes.add(items.length)
    return items
  })
  await store.sql`insert into toys (name) select i from generate_series(1, 250) as i`
  await store.passed()
  const own = { ...store.pools, reads: { sql: store.pools.reads.sqlUntil(undefined) } } as Pools
  t.equal((await readerOf(t, feed, own, '0-0').names(250)).length, 250)
  t.strictSame([...sizes], [100, 50])
})

t.test('the delay is that of what was added and not yet read, and undefined without readers', async (t) => {
  const store = await createToys(t)
  const { feed } = startFeed(t, store.pools)
  t.equal(feed.delayMs, undefined)
  const { reader } = await atEnd(t, feed, store)
  const delayMs = () => feed.delayMs ?? Number.NaN
  const heldMs = 2_000 // a busy machine delays it by less
  await until(() => delayMs() < heldMs)
  const pending = reader.names(2)
  await store.sql.begin(async (long) => {
    await long`insert into toys (name) values ('long')`
    await store.add('held up')
    await until(() => delayMs() > heldMs)
  })
  t.strictSame(await pending, ['long', 'held up'])
  await until(() => delayMs() < heldMs)
  const end = reader.items.next()
  reader.leave()
  await end
  await until(() => feed.delayMs === undefined)
})

t.test('a reader gets what was added behind the item that it has seen last', async (t) => {
  const store = await createToys(t)
  await store.add('old')
  const { feed } = startFeed(t, store.pools)
  const { reader, first } = await atEnd(t, feed, store)
  t.match(first, { id: /^\d+-3$/, data: { id: 3n, name: 'first' } })
  await store.add('a', 'b')
  t.strictSame(await reader.names(2), ['a', 'b'])
  await store.add('c')
  t.strictSame(Object.keys(await reader.next()), ['id', 'data'], 'an event has no other field')
  t.strictSame(await readerOf(t, feed, store.pools, first.id).names(3), ['a', 'b', 'c'])
  t.strictSame(await readerOf(t, feed, store.pools, '0-0').names(6), ['old', 'begun', 'first', 'a', 'b', 'c'])
})

t.test(
  'what is committed late, behind a higher id, comes in its turn, and holds up what comes after',
  async (t) => {
    const store = await createToys(t)
    const { feed } = startFeed(t, store.pools)
    const { reader } = await atEnd(t, feed, store)
    const pending = reader.names(3)
    await store.sql.begin(async (late) => {
      await late`insert into toys (name) values ('late')`
      await store.add('early')
    })
    await store.add('last')
    t.strictSame(await pending, ['late', 'early', 'last'])
  },
)

t.test('what is rolled back never comes', async (t) => {
  const store = await createToys(t)
  const { feed } = startFeed(t, store.pools)
  const { reader } = await atEnd(t, feed, store)
  const undone = store.sql.begin(async (sql) => {
    await sql`insert into toys (name) values ('undone')`
    throw new Error('undone')
  })
  await t.rejects(undone, { message: 'undone' })
  await store.add('done')
  t.strictSame(await reader.names(1), ['done'])
})

t.test('rows that the table has no more, as it declares, are in no feed', async (t) => {
  const store = await createToys(t)
  await store.sql`alter table toys add column deleted_at timestamptz`
  const left = table<Toy, Pick<Toy, 'name'>>('toys', { ...toys, where: 'deleted_at is null' })
  const { feed } = startFeed(t, store.pools, soon, additionsTo(left))
  await store.add('a', 'b', 'c')
  await store.sql`update toys set deleted_at = now() where name = 'b'`
  t.strictSame(await readerOf(t, feed, store.pools, '0-0').names(2), ['a', 'c'])
})

t.test('items of one transaction, and of several, come in order, a page after the other', async (t) => {
  const store = await createToys(t)
  const { feed } = startFeed(t, store.pools)
  await store.sql`insert into toys (name) select i from generate_series(1, 1500) as i`
  await store.sql`insert into toys (name) select i from generate_series(1501, 2500) as i`
  const names = await readerOf(t, feed, store.pools, '0-0').names(2_500)
  t.strictSame(
    names,
    Array.from({ length: 2_500 }, (_, i) => String(i + 1)),
  )
})

t.test('a reader goes on at another instance, and misses and repeats nothing', async (t) => {
  const store = await createToys(t)
  const others = await openPools(t, store.sql)
  const instances = [startFeed(t, store.pools).feed, startFeed(t, others).feed] as const
  const { first } = await atEnd(t, instances[0], store)
  const read: string[] = []
  let last = first.id
  for (let i = 0; i < 40; i++) {
    const reader = readerOf(t, instances[i % 2] as Followed, i % 2 ? others : store.pools, last)
    const pending = reader.next()
    await store.add(String(i))
    const item = await pending
    read.push(item.data.name)
    last = item.id
    reader.leave()
    await reader.items.return()
  }
  t.strictSame(
    read,
    Array.from({ length: 40 }, (_, i) => String(i)),
  )
})

t.test('all readers of an instance share what it reads, and without any it reads nothing', async (t) => {
  const store = await createToys(t)
  const { feed, seen } = startFeed(t, store.pools)
  const { reader, first } = await atEnd(t, feed, store)
  const readers = Array.from({ length: 50 }, () => readerOf(t, feed, store.pools, first.id))
  const pending = readers.map((each) => each.names(1))
  const before = seen.reads
  await store.add('a')
  t.strictSame(await reader.names(1), ['a'])
  for (const names of await Promise.all(pending)) t.strictSame(names, ['a'])
  t.ok(seen.reads - before < 50, `${seen.reads - before} statements for 50 readers`)
  const left = [...readers, reader].map(({ items, leave }) => {
    const end = items.next()
    leave()
    return end
  })
  for (const end of await Promise.all(left)) t.match(end, { done: true })
  await store.add('b') // by now, everything that was under way is over
  const after = seen.reads
  for (let i = 0; i < 20; i++) await store.sql`select pg_sleep(0.005)`
  t.ok(seen.reads <= after + 1, 'nobody asks any more')
})

t.test('a reader that is behind by more than is kept reads pages of its own', async (t) => {
  const store = await createToys(t)
  const { feed } = startFeed(t, store.pools, { ...soon, rememberedMax: 3 })
  const { reader, first } = await atEnd(t, feed, store)
  const slow = readerOf(t, feed, store.pools, first.id)
  const names = Array.from({ length: 10 }, (_, i) => String(i))
  await store.add(...names)
  t.strictSame(await reader.names(10), names)
  t.strictSame(await slow.names(10), names)
  await store.add('more')
  t.strictSame([await reader.names(1), await slow.names(1)], [['more'], ['more']])
})

t.test('a reader is not left asleep by what comes while it reads a page of its own', async (t) => {
  const store = await createToys(t)
  const added = additionsTo(toys)
  let held: (() => void) | undefined
  const { feed } = startFeed(t, store.pools, soon, async (sql, after, limit) => {
    const items = await added(sql, after, limit)
    if (after === '0-0') await new Promise<void>((resolve) => (held = resolve))
    return after === '0-0' ? [] : items
  })
  const { reader } = await atEnd(t, feed, store)
  const behind = readerOf(t, feed, store.pools, '0-0').next()
  while (held === undefined) await store.sql`select 1`
  await store.add('a')
  t.strictSame(await reader.names(1), ['a'], 'the others are awake')
  const again = held
  held = undefined
  again()
  while (held === undefined) await store.sql`select 1`
  t.pass('it looks again')
  behind.catch(() => {})
})

t.test('an outage is logged once, and its end; readers go on', async (t) => {
  const store = await createToys(t)
  const added = additionsTo(toys)
  let failures = 0
  let isDown = false
  const { feed, seen } = startFeed(t, store.pools, soon, async (sql, after, limit) => {
    if (isDown) {
      failures++
      throw new Error('down')
    }
    return added(sql, after, limit)
  })
  const { reader } = await atEnd(t, feed, store)
  isDown = true
  const pending = reader.names(1)
  await store.add('a')
  while (failures < 3) await store.sql`select 1`
  isDown = false
  t.strictSame(await pending, ['a'])
  await until(() => seen.lines.length > 1) // a reader may notice it first
  t.strictSame(seen.lines, ['warn feed not read', 'info feed read again'])
})

t.test('a reader that comes while the database is away fails, and the next one begins', async (t) => {
  const store = await createToys(t)
  const away = { reads: { sql: () => Promise.reject(new Error('away')) } } as unknown as Pools
  const pools = { current: away }
  const parts = {
    get reads() {
      return pools.current.reads
    },
  } as Pools
  const { feed } = startFeed(t, parts)
  await t.rejects(readerOf(t, feed, store.pools).next(), { message: 'away' })
  pools.current = store.pools
  const { first } = await atEnd(t, feed, store)
  t.equal(first.data.name, 'first')
})

t.test('a feed that is closed asks no more; its readers end with their requests', async (t) => {
  const store = await createToys(t)
  const { feed, seen } = startFeed(t, store.pools)
  const { reader } = await atEnd(t, feed, store)
  const end = reader.items.next()
  feed.close()
  await store.add('a')
  const after = seen.reads
  for (let i = 0; i < 20; i++) await store.sql`select pg_sleep(0.005)`
  t.ok(seen.reads <= after + 1)
  reader.leave()
  t.match(await end, { done: true })
})
