// Every type of column: its extremes come back as they were stored, by whatever statement they are read.

import { stringify } from 'lossless-json'
import t from 'tap'
import { bytea, int8, text } from '../../../src/database/table/columns.js'
import { table } from '../../../src/database/table/table.js'
import { cases } from '../../fixtures/columns.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

t.test('a column', async (t) => {
  const sql = await createDatabase(t)
  await sql`create type letters as enum ('a b', 'c')`
  const { reads, writes } = await openPools(t, sql)

  for (const [i, { title, codec, type = codec.type, values }] of cases.entries()) {
    t.test(`of ${title} has one form`, async (t) => {
      const name = `values_${i}`
      await sql.unsafe(
        `create table ${name} (id bigint generated always as identity primary key, value ${type})`,
      )
      const rows = table<{ id: bigint; value: unknown }, { value: unknown }>(name, {
        shows: { id: int8(), value: codec },
        takes: { value: codec },
      })
      const list = rows.pages({ order: ['id'] })
      const findBy = rows.findBy('id')
      const expected = values.map((value, i) => ({
        id: BigInt(i + 1),
        ...(value !== undefined && { value }),
      }))
      const added = await Promise.all(values.map((value) => rows.insert(writes.sql, { value })))
      const found = await Promise.all(added.map(({ id }) => findBy(reads.sql, id)))
      const { items } = await list(reads.sql, { limit: 100 })
      const own = rows.read(await reads.sql`select ${rows.shown(reads.sql)} from ${sql(name)} order by id`)
      t.strictSame(added, expected)
      for (const each of [found, items, own]) t.equal(stringify(each), stringify(added))
    })
  }

  t.test('of bytea has bytes', async (t) => {
    await sql`create table images (id bigint primary key, image bytea)`
    const images = table<{ id: bigint; image: Uint8Array }, { id: bigint; image: Uint8Array }>('images', {
      shows: { id: int8(), image: bytea() },
      takes: { id: int8(), image: bytea() },
    })
    const image = Uint8Array.of(0, 92, 255)
    const added = await images.insert(writes.sql, { id: 1n, image })
    const found = await images.findBy('id')(reads.sql, 1n)
    for (const each of [added, found]) t.strictSame(each && new Uint8Array(each.image), image)
  })

  t.test('that is null without being declared so fails with its name', async (t) => {
    await sql`create table nulls (id bigint primary key, "Name" text)`
    await sql`insert into nulls values (1, null)`
    const nulls = table<{ id: bigint; name: string }, { id: bigint }>('nulls', {
      shows: { id: int8(), name: text('Name') },
      takes: { id: int8() },
    })
    const message = 'column "Name" has a value that text does not read'
    await t.rejects(nulls.findBy('id')(reads.sql, 1n), { message, cause: { message: 'it is null' } })
    await t.rejects(nulls.pages({ order: ['id'] })(reads.sql, { limit: 1 }), { message })
  })
})
