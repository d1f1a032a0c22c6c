// In any order and with any filter, the pages of a table are those of its rows sorted and filtered in memory.

import { stringify } from 'lossless-json'
import t from 'tap'
import {
  arrayOf,
  enumeration,
  int4,
  int8,
  nullable,
  numericAsNumber,
  optional,
  text,
  timestamptz,
} from '../../../src/database/table/columns.js'
import type { Page } from '../../../src/database/table/pages.js'
import { table } from '../../../src/database/table/table.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

interface Part {
  readonly id: bigint
  readonly name: string
  readonly size: number
  readonly madeAt: string
  readonly shop?: string
  readonly note: string | null
  readonly tags: string[]
}

type NewPart = Omit<Part, 'id'> & { readonly owner: bigint }

const shown = {
  name: text(),
  size: int4(),
  madeAt: timestamptz('made_at'),
  shop: optional(text()),
  note: nullable(text()),
  tags: arrayOf(text()),
}
const parts = table<Part, NewPart>('parts', {
  shows: { id: int8(), ...shown },
  takes: { ...shown, owner: int8() },
})

const shops = ['a,b', '*', '%2C', undefined]
const news = Array.from(
  { length: 60 },
  (_, i): NewPart => ({
    name: `part ${(i * 7) % 10}`,
    size: (i * 13) % 5,
    madeAt: `2026-01-${String((i % 3) + 1).padStart(2, '0')}T00:00:00.00000${(i % 2) + 1}Z`,
    note: i % 2 === 0 ? null : '|',
    tags: i % 3 === 0 ? ['x', 'y'] : [],
    owner: BigInt(i % 2),
    ...(shops[i % 4] !== undefined && { shop: shops[i % 4] as string }),
  }),
)

type Compare = (a: Part, b: Part) => number
const byId: Compare = (a, b) => Number(a.id - b.id)
const bySize: Compare = (a, b) => a.size - b.size
const byTime: Compare = (a, b) => (a.madeAt < b.madeAt ? -1 : Number(a.madeAt > b.madeAt))
const down =
  (compare: Compare): Compare =>
  (a, b) =>
    -compare(a, b)

function sorted(rows: readonly Part[], ...compare: readonly Compare[]): Part[] {
  return [...rows].sort((a, b) => compare.map((each) => each(a, b)).find((order) => order !== 0) ?? 0)
}

t.test('pages', async (t) => {
  const sql = await createDatabase(t)
  await sql`create table parts (
    id bigint generated always as identity primary key, name text not null, size integer not null,
    made_at timestamptz not null, shop text, note text, tags text[] not null, owner bigint not null,
    -- Names that the statement uses, too.
    value0 text default 'x', last0 text default 'x', after integer default 1, page_limit integer default 1)`
  const { reads, writes } = await openPools(t, sql)
  const all: Part[] = []
  for (const each of news) all.push(await parts.insert(writes.sql, each))

  const walk = async <Position>(list: (after: Position | undefined) => Promise<Page<Part, Position>>) => {
    const rows: Part[] = []
    let after: Position | undefined
    do {
      const { items, next } = await list(after)
      rows.push(...items)
      after = next
    } while (after !== undefined)
    return rows
  }

  const filters = {
    shop: 'shop',
    note: 'note',
    owner: 'owner',
    sizes: ['size', 'in'],
    from: ['madeAt', '>='],
    name: ['name', 'like'],
    tags: ['tags', '@>'],
  } as const
  const [one, down1] = [parts.pages({ order: ['id'], filters }), parts.pages({ order: ['-id'], filters })]
  const named = parts.pages({
    order: { size: ['size', 'id'], '-madeAt': ['-madeAt', '-id'], mixed: ['-madeAt', 'size', '-id'] },
    filters,
  })
  type Filter = Omit<Parameters<typeof named>[1], 'limit' | 'after' | 'order'>
  type Walk = (filter: Filter, limit: number) => Promise<Part[]>
  const asOnly =
    (list: typeof one): Walk =>
    (filter, limit) =>
      walk<bigint>((after) => list(reads.sql, { ...filter, after, limit }))
  const byName =
    (order: 'size' | '-madeAt' | 'mixed' | undefined): Walk =>
    (filter, limit) =>
      walk<string>((after) => named(reads.sql, { ...filter, after, limit, order }))
  const orders: [title: string, rowsOf: Walk, ...by: Compare[]][] = [
    ['id', asOnly(one), byId],
    ['-id', asOnly(down1), down(byId)],
    ['the first of several', byName(undefined), bySize, byId],
    ['size, id', byName('size'), bySize, byId],
    ['-madeAt, -id', byName('-madeAt'), down(byTime), down(byId)],
    ['-madeAt, size, -id', byName('mixed'), down(byTime), bySize, down(byId)],
  ]
  for (const [title, rowsOf, ...by] of orders) {
    t.test(`in the order of ${title}`, async (t) => {
      const ofOwner = (owner: bigint) => all.filter((_, i) => news[i]?.owner === owner)
      const kinds: readonly (readonly [Filter, readonly Part[]])[] = [
        [{}, all],
        ...shops.map(
          (shop) => [{ shop }, shop === undefined ? all : all.filter((each) => each.shop === shop)] as const,
        ),
        [{ owner: 1n }, ofOwner(1n)],
        [{ owner: 0n, shop: 'a,b' }, ofOwner(0n).filter(({ shop }) => shop === 'a,b')],
        [{ note: '|' }, all.filter(({ note }) => note === '|')],
        [{ sizes: [1, 3] }, all.filter(({ size }) => size === 1 || size === 3)],
        [{ sizes: [] }, []],
        [{ from: '2026-01-02T00:00:00Z' }, all.filter(({ madeAt }) => madeAt >= '2026-01-02')],
        [{ name: '%3' }, all.filter(({ name }) => name === 'part 3')],
        [{ tags: ['y'], owner: 0n }, ofOwner(0n).filter(({ tags }) => tags.length > 0)],
      ]
      for (const [filter, rows] of kinds)
        for (const limit of [1, 7, 100])
          t.strictSame(await rowsOf(filter, limit), sorted(rows, ...by), `${stringify(filter)}, ${limit}`)
    })
  }

  t.test('begin after any value in an order by one field', async (t) => {
    const list = parts.pages({ order: ['-id'] })
    const { items } = await list(reads.sql, { after: 1_000_000n, limit: 1 })
    t.strictSame(items, [all.at(-1)])
    t.strictSame(await list(reads.sql, { after: 1n, limit: 1 }), { items: [], next: undefined })
  })

  t.test('begin after the row of a link of the release before, in an order by several', async (t) => {
    const order = ['madeAt', 'id'] as const
    const list = parts.pages({ order, filters: { owner: 'owner' } })
    const old = parts.pages({ order, position: 'row' })
    const first = await list(reads.sql, { limit: 7 })
    const last = first.items.at(-1)?.id as bigint
    const second = await list(reads.sql, { limit: 7, after: first.next })
    t.strictSame(await list(reads.sql, { limit: 7, after: String(last) }), second)
    t.strictSame(await old(reads.sql, { limit: 7 }), { items: first.items, next: last })
    const both = [last, first.next as unknown as bigint] // in a contract, both have the same type
    for (const after of both)
      t.strictSame((await old(reads.sql, { limit: 7, after })).items, second.items, 'both read both')
    const byName = parts.pages({ order: { id: ['id'], size: ['size', 'id'] } })
    t.match((await byName(reads.sql, { limit: 1, after: '3', order: 'id' })).items, [{ id: 4n }])
  })

  t.test('refuse a position or a filter that no text can have, and no request beside it', async (t) => {
    const list = parts.pages({
      order: ['name', 'id'],
      filters: { shop: 'shop', tags: ['tags', '@>'], shops: ['shop', 'in'] },
    })
    for (const half of ['\ud800', 'a\udc00', '\0', '\ud800\0']) {
      const after = Buffer.from(
        JSON.stringify([
          ['name', half],
          ['id', '1'],
        ]),
      ).toString('base64url')
      const asked = [{ after }, {}, { shop: half }, { tags: [half] }, { shops: ['*', half] }]
      const [position, other, ...filtered] = await Promise.allSettled(
        asked.map((each) => list(reads.sql, { limit: 1, ...each })),
      )
      const code = 'invalid_request'
      const message = 'query.after must be of a link to a page in this order'
      t.match(position, { reason: { code, message } })
      t.match(other, { value: { items: [{ id: 1n }] } }, 'beside it')
      for (const each of filtered)
        t.match(each, { reason: { code, message: /^query\.\w+ has a character that no text can have$/ } })
    }
  })

  t.test('refuse a position that is none of their order', async (t) => {
    const list = parts.pages({ order: ['madeAt', 'id'], filters: { owner: 'owner' } })
    const message = 'query.after must be of a link to a page in this order'
    const { next } = await parts.pages({ order: ['-madeAt', 'id'] })(reads.sql, { limit: 1 })
    const textOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const wrong = [
      ...['1000000', '', 'x', '%', '\0', String(next)],
      ...[
        null,
        1,
        {},
        [],
        ['madeAt', 'id'],
        [
          ['madeAt', '2026-01-01'],
          ['id', 1],
        ],
      ].map(textOf),
      textOf([
        ['madeAt', '2026-13-01'],
        ['id', '1'],
      ]),
      textOf([
        ['madeAt', '2026-01-01'],
        ['id', 'x'],
      ]),
      textOf([
        ['madeAt', '2026-01-01\0'],
        ['id', '1'],
      ]),
      textOf([['madeAt', '2026-01-01']]),
    ]
    for (const after of wrong) {
      const lost = list(reads.sql, { limit: 1, after })
      // A wrong position does not harm lists that are read in the same statement.
      const right = Promise.all([1, 2, 3].map((limit) => list(reads.sql, { limit, after: '1' })))
      await t.rejects(lost, { code: 'invalid_request', message }, JSON.stringify(after))
      t.strictSame(
        (await right).map(({ items }) => items.length),
        [1, 2, 3],
      )
    }
  })

  t.test('refuse a value that PostgreSQL cannot read', async (t) => {
    const list = parts.pages({ order: ['madeAt'] })
    const message = 'query.after must be the madeAt of an item of the list'
    const lost = list(reads.sql, { limit: 1, after: '2026-13-01T00:00:00Z' })
    const right = list(reads.sql, { limit: 1, after: '2026-01-01T00:00:00Z' })
    await t.rejects(lost, { code: 'invalid_request', message })
    t.equal((await right).items.length, 1)
  })
})

t.test('a position has all digits of a value, also where the row shows fewer', async (t) => {
  const sql = await createDatabase(t)
  await sql`create table prices (id bigint generated always as identity, price numeric not null)`
  await sql`insert into prices (price) select 0.1 + 1e-20 * i from generate_series(1, 20) as i`
  const prices = table<{ id: bigint; price: number }, object>('prices', {
    shows: { id: int8(), price: numericAsNumber() },
    takes: {},
  })
  const { reads } = await openPools(t, sql)
  const list = prices.pages({ order: ['-price', 'id'] })
  const ids: bigint[] = []
  let after: string | undefined
  do {
    const { items, next } = await list(reads.sql, { limit: 3, after })
    ids.push(...items.map(({ id }) => id))
    after = next
  } while (after !== undefined)
  t.strictSame(
    ids,
    Array.from({ length: 20 }, (_, i) => BigInt(20 - i)),
  )
})

t.test('a position is in the order of its column, as of an enum type', async (t) => {
  const sql = await createDatabase(t)
  await sql`create type grade as enum ('low', 'high', 'best')`
  await sql`create table marks (id bigint generated always as identity, grade grade not null)`
  await sql`insert into marks (grade) select g from unnest(enum_range(null::grade)) as g, generate_series(1, 3)`
  const marks = table<{ id: bigint; grade: string }, object>('marks', {
    shows: { id: int8(), grade: enumeration('grade') },
    takes: {},
  })
  const { reads } = await openPools(t, sql)
  const list = marks.pages({ order: ['-grade', '-id'] })
  const grades: string[] = []
  let after: string | undefined
  do {
    const { items, next } = await list(reads.sql, { limit: 2, after })
    grades.push(...items.map(({ grade }) => grade))
    after = next
  } while (after !== undefined)
  const expected = ['best', 'high', 'low'].flatMap((grade) => Array<string>(3).fill(grade))
  t.strictSame(grades, expected)
})

t.test('a row that cannot be computed is not taken for a position that no row has', async (t) => {
  const sql = await createDatabase(t)
  await sql`create table stored (id bigint generated always as identity, size int)`
  await sql`insert into stored (size) values (1), (0), (2)`
  await sql`create view shares as select id, 10 / size as share from stored`
  const shares = table<{ id: bigint; share: number }, object>('shares', {
    shows: { id: int8(), share: int4() },
    takes: {},
  })
  const list = shares.pages({ order: ['id'] })
  const { reads } = await openPools(t, sql)
  const settled = await Promise.allSettled([0n, 1n, 2n].map((after) => list(reads.sql, { limit: 1, after })))
  t.match(settled, [
    { status: 'rejected', reason: { code: '22012' } }, // a page reads one row more
    { status: 'rejected', reason: { code: '22012' } },
    { status: 'fulfilled', value: { items: [{ id: 3n, share: 5 }], next: undefined } },
  ])
})
