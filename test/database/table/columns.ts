// Every type of column: its extremes come back as they were stored, by whatever statement they are read.

import { stringify } from 'lossless-json'
import t from 'tap'
import {
  arrayOf,
  base64,
  boolean,
  bytea,
  type Column,
  date,
  enumeration,
  float4,
  float8,
  int2,
  int4,
  int8,
  interval,
  json,
  jsonb,
  nullable,
  numeric,
  numericAsNumber,
  optional,
  text,
  time,
  timestamp,
  timestamptz,
  timetz,
  uuid,
} from '../../../src/database/table/columns.js'
import { table } from '../../../src/database/table/table.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

interface Case {
  readonly title: string
  readonly codec: Column<unknown>
  /** In the table, if it is not the codec's. */
  readonly type?: string
  readonly values: readonly unknown[]
}

function of<Value>(title: string, codec: Column<Value>, values: readonly Value[], type?: string): Case {
  return { title, codec: codec as unknown as Column<unknown>, values, ...(type !== undefined && { type }) }
}

const strings = ['', ' ', 'null', 'NULL', '{a,"b"}', `"'\\ \u0001\n\t`, '🐾 ë', '[1]', '*|,%', 't', '1']
const most = 2n ** 63n - 1n

const cases: readonly Case[] = [
  of('smallint', int2(), [-32768, 0, 32767]),
  of('integer', int4(), [-(2 ** 31), 0, 2 ** 31 - 1]),
  of('bigint', int8(), [-most - 1n, -1n, 0n, 2n ** 53n + 1n, most]),
  of('real', float4(), [0, -1.5, 0.1, 3.4028235e38, 1e-45]),
  of('double precision', float8(), [0, 0.1, -1.7976931348623157e308, 5e-324, 123456.789]),
  of('numeric', numeric(), ['0', '-1', '1.10', '9'.repeat(40), `0.${'0'.repeat(30)}1`]),
  of('numeric of a scale', numeric(), ['1.10', '-9999999.99'], 'numeric(9, 2)'),
  of('numeric as a number', numericAsNumber(), [0, 0.1, -1.7976931348623157e308, 5e-324, 19.99]),
  of('text', text(), strings),
  of('varchar', text(), strings, 'varchar(255)'),
  of('an enum type', enumeration<string>('letters'), ['a b', 'c']),
  of('boolean', boolean(), [true, false]),
  of('uuid', uuid(), ['00000000-0000-0000-0000-000000000000', '7d444840-9dc0-11d1-b245-5ffdce74fad2']),
  of('bytea as base64', base64(), ['', 'AAEC', Buffer.from('\\x{"}').toString('base64')]),
  of('date', date(), ['0001-01-01', '2020-02-29', '9999-12-31']),
  of('time', time(), ['00:00:00', '12:34:56.789012', '24:00:00']),
  of('timetz', timetz(), ['00:00:00Z', '12:34:56.789012+05:45', '23:59:59-08:00']),
  of('timestamp', timestamp(), ['0001-01-01T00:00:00', '2026-01-31T12:34:56.789012']),
  of('timestamptz', timestamptz(), ['0001-01-01T00:00:00Z', '2026-01-31T12:34:56.789012Z']),
  of('interval', interval(), ['PT0S', 'P1Y2M3DT4H5M6.789S', 'P-1DT2H']),
  of('json', json<unknown & object>(), [{ b: most, a: [1.1, null, '\\"'] }, [], {}]),
  of('jsonb', jsonb<NonNullable<unknown>>(), [{ a: most, b: 2 ** 40 }, 'text', 0, true]),
  of('an array of bigint', arrayOf(int8()), [[], [most, -1n]]),
  of('an array of text', arrayOf(text()), [[], strings]),
  of('an array of text or null', arrayOf(nullable(text())), [[null, 'NULL', '', null]]),
  of('an array of boolean', arrayOf(boolean()), [[true, false]]),
  of('an array of timestamptz', arrayOf(timestamptz()), [['2026-01-31T12:34:56Z']]),
  of('an array of jsonb', arrayOf(jsonb<object>()), [[{ a: '"{,}"' }, [most]]]),
  of('an array of base64', arrayOf(base64()), [['AAEC', '']]),
  of('an array of an enum type', arrayOf(enumeration<string>('letters')), [['a b', 'c']]),
  of('an array of arrays', arrayOf(arrayOf(text())), [
    [
      ['a,b', '}{'],
      ['"', 'NULL'],
    ],
    [],
  ]),
  of('an optional', optional(int8()), [undefined, 1n]),
  of('a nullable', nullable(text()), [null, 'null']),
]

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
