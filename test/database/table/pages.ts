// Pages of a table in any order and by any filter are those of the rows sorted and filtered in memory.

import { stringify } from 'lossless-json'
import t from 'tap'
import {
  arrayOf,
  int4,
  int8,
  nullable,
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

  const walk = async (list: (after: bigint | undefined) => Promise<Page<Part, bigint>>) => {
    const rows: Part[] = []
    let after: bigint | undefined
    do {
      const { items, next } = await list(after)
      rows.push(...items)
      after = next
    } while (after !== undefined)
    return rows
  }

  const orders = [
    { order: ['id'], by: [byId] },
    { order: ['-id'], by: [down(byId)] },
    { order: ['size', 'id'], by: [bySize, byId] },
    { order: ['-madeAt', '-id'], by: [down(byTime), down(byId)] },
    { order: ['-madeAt', 'size', '-id'], by: [down(byTime), bySize, down(byId)] },
  ] as const
  for (const { order, by } of orders) {
    t.test(`in the order of ${order.join(', ')}`, async (t) => {
      const list = parts.pages({
        order,
        filters: {
          shop: 'shop',
          note: 'note',
          owner: 'owner',
          sizes: ['size', 'in'],
          from: ['madeAt', '>='],
          name: ['name', 'like'],
          tags: ['tags', '@>'],
        },
      })
      const ofOwner = (owner: bigint) => all.filter((_, i) => news[i]?.owner === owner)
      type Filter = Omit<Parameters<typeof list>[1], 'limit'>
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
          t.strictSame(
            await walk((after) => list(reads.sql, { ...filter, after, limit })),
            sorted(rows, ...by),
            `${stringify(filter)}, ${limit}`,
          )
    })
  }

  t.test('begin after any value in an order by one field', async (t) => {
    const list = parts.pages({ order: ['-id'] })
    const { items } = await list(reads.sql, { after: 1_000_000n, limit: 1 })
    t.strictSame(items, [all.at(-1)])
    t.strictSame(await list(reads.sql, { after: 1n, limit: 1 }), { items: [], next: undefined })
  })

  t.test('begin only after a row that there is in an order by several', async (t) => {
    const list = parts.pages({ order: ['madeAt', 'id'], filters: { owner: 'owner' } })
    const message = 'query.after must be the id of an item of the list'
    const lost = list(reads.sql, { limit: 1, after: 1_000_000n })
    // A wrong one does not harm those that are read with it.
    const right = Promise.all([1, 2, 3].map((limit) => list(reads.sql, { limit, after: all[0]?.id })))
    await t.rejects(lost, { code: 'invalid_request', message })
    t.strictSame(
      (await right).map(({ items }) => items.length),
      [1, 2, 3],
    )
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
