// Every type of column: its extreme values come back as they were stored, whichever statement reads them.

import { formats } from 'contract-engine/tools'
import { stringify } from 'lossless-json'
import t from 'tap'
import {
  arrayOf,
  bytea,
  type Column,
  date,
  float4,
  float8,
  int4,
  int8,
  interval,
  json,
  jsonb,
  nullable,
  numeric,
  numericAsNumber,
  text,
  timestamptz,
  timetz,
} from '../../../src/database/table/columns.js'
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

  // Creates a table with one column of a type, and the statements that insert and read its values.
  let tables = 0
  const tableOf = async (codec: Column<unknown>, type = codec.type) => {
    const name = `edges_${++tables}`
    await sql.unsafe(
      `create table ${name} (id bigint generated always as identity primary key, value ${type})`,
    )
    const rows = table<{ id: bigint; value: unknown }, { value: unknown }>(name, {
      shows: { id: int8(), value: codec },
      takes: { value: codec },
    })
    const insert = async (value: unknown) => (await rows.insert(writes.sql, { value })).value
    const insertSql = async (literal: string) => {
      const [row] = await sql.unsafe(`insert into ${name} (value) values (${literal}) returning id`)
      return rows.findBy('id')(reads.sql, row?.id as bigint)
    }
    return { insert, insertSql }
  }

  const valuesOfFormats = {
    date: ['0001-01-01', '1582-10-10', '2024-02-29', '9999-12-31'],
    'date-time': [
      '0001-01-01T00:00:00Z',
      '9999-12-31T23:59:59.999999Z',
      '2016-12-31T23:59:60Z',
      '2016-12-31T15:59:60.5-08:00',
      '2016-12-31t23:59:59.9999999z',
      '1900-01-01T00:00:00+00:19',
    ],
    time: [
      ...['00:00:00Z', '23:59:60Z', '23:59:59.9999999Z', '23:59:59.9999995+00:00', '15:59:60-08:00'],
      ...['23:59:59.9999999-01:00', '12:00:00+15:59', '12:00:00-15:59', '12:00:00-00:00', '00:00:00+00:30'],
    ],
    duration: [
      ...['PT0S', 'P0D', 'PT3605S', 'PT1H0M5S', 'P1Y0M2D', 'P12M1D', 'P14M', 'P4W', 'PT36H', 'PT59M60S'],
      ...['P99999999Y99999999M', 'P178956970Y7M', 'P306783378W', 'P2147483647D', 'PT2147483647S'],
      ...['PT2147483647H', 'PT2147483646H59M60S', 'P0Y0M1D', 'P1Y2M3DT4H5M6S', 'PT99999999H99999999M'],
    ],
  }
  const columnOf = { date: date(), 'date-time': timestamptz(), time: timetz(), duration: interval() }
  for (const [format, values] of Object.entries(valuesOfFormats)) {
    t.test(`stores what the format ${format} takes, and shows what it takes`, async (t) => {
      const { insert } = await tableOf(columnOf[format as keyof typeof columnOf] as Column<unknown>)
      const { validate } = formats[format] ?? {}
      const isTaken = (text: string) => (validate instanceof RegExp ? validate.test(text) : validate?.(text))
      for (const value of values) {
        t.ok(isTaken(value), value)
        const shown = String(await insert(value))
        t.ok(isTaken(shown), `${value} is shown as ${shown}`)
      }
    })
  }

  const any = <Value>(codec: Column<Value>) => codec as unknown as Column<unknown>
  const shownOf: [title: string, codec: Column<unknown>, literal: string, shown: unknown, type?: string][] = [
    ['an hour and five seconds', any(interval()), "'3605 s'", 'PT1H0M5S'],
    ['a year and two days', any(interval()), "'1 year 2 days'", 'P1Y0M2D'],
    ['a negative interval', any(interval()), "'-1 year -2 days 3 s'", 'P-1Y0M-2DT3S'],
    ['an array of intervals', any(arrayOf(interval())), "'{3605 s}'", ['PT1H0M5S']],
    ['the end of a day', any(timetz()), "'24:00:00+00'", '23:59:60Z'],
    ['the end of a day elsewhere', any(timetz()), "'24:00:00+01'", '00:00:00+01:00'],
    ['an offset with seconds', any(timetz()), "'01:00:00.5+05:30:15'", '19:29:45.5Z'],
    ['one to the west', any(timetz()), "'20:00:00-05:30:15'", '01:30:15Z'],
    ['a number of JSON beyond a double', any(json()), `'{"a":1e400}'`, { a: 10n ** 400n }],
    ['a negative one', any(jsonb()), `'{"a":-15E+399}'`, { a: -15n * 10n ** 399n }],
    ['a small number of JSON', any(json()), `'{"a":1e-7}'`, { a: 1e-7 }],
    ['an array with bounds', any(arrayOf(text())), "'[0:1]={a,b}'", ['a', 'b']],
    ['text in braces', any(arrayOf(text())), `'{"{a}"}'`, ['{a}']],
    [
      'a matrix',
      any(arrayOf(arrayOf(int8()))),
      "'{{1,2},{3,4}}'",
      [
        [1n, 2n],
        [3n, 4n],
      ],
    ],
    ['a matrix with bounds', any(arrayOf(arrayOf(text()))), "'[0:0][2:3]={{a,NULL}}'", undefined],
    ['a matrix of text or null', any(arrayOf(arrayOf(nullable(text())))), "'{{a,NULL}}'", [['a', null]]],
    ['texts of arrays, as they were once stored', any(arrayOf(arrayOf(text()))), `'{"{a,b}"}'`, [['a', 'b']]],
    ['padding', any(text()), "'ab'", 'ab', 'char(5)'],
    ['two dimensions for one', any(arrayOf(text())), "'{{a,b},{c,d}}'", undefined],
    ['one dimension for two', any(arrayOf(arrayOf(text()))), "'{a,b}'", undefined],
    ['no number', any(float8()), "'NaN'", undefined],
    ['infinity', any(float4()), "'-Infinity'", undefined],
    ['infinity of a numeric', any(numericAsNumber()), "'Infinity'", undefined],
    ['a numeric beyond a double', any(numericAsNumber()), "'1e400'", undefined],
    ['a number of JSON beyond a numeric', any(json()), `'{"a":1e999999999}'`, undefined],
  ]
  for (const [title, codec, literal, shown, type] of shownOf)
    t.test(`shows ${title} that SQL has written${shown === undefined ? ' to nobody' : ''}`, async (t) => {
      const { insertSql } = await tableOf(codec, type)
      if (shown !== undefined) t.strictSame((await insertSql(literal))?.value, shown)
      else
        await t.rejects(insertSql(literal), {
          message: `column "value" has a value that ${codec.type} does not`,
        })
    })

  const refusals: [title: string, codec: Column<unknown>, value: unknown, message: string, type?: string][] =
    [
      ['a text', any(text()), 'abc', 'a text that is too long', 'varchar(2)'],
      ['NUL', any(text()), 'a\0', 'a character that no text can have'],
      ['NUL in JSON', any(jsonb()), { a: '\0' }, 'a character that no text can have'],
      ['an integer', any(int4()), 2 ** 31, 'a number out of range'],
      ['a number too small', any(float4()), 1e-46, 'a number out of range'],
      ['a decimal', any(numeric()), '1000', 'a number out of range', 'numeric(4, 1)'],
      ['a date', any(date()), '2026-02-30', 'a date or time out of range'],
    ]
  for (const [title, codec, value, message, type] of refusals)
    t.test(`refuses what it does not store: ${title}`, async (t) => {
      const { insert } = await tableOf(codec, type)
      // Other values in the same statement are still stored.
      const all = [value, value].map((each) => insert(each))
      for (const each of all)
        await t.rejects(each, { code: 'invalid_request', message: `body.value has ${message}` })
    })

  t.test('of lists of lists refuses those that PostgreSQL does not keep', async (t) => {
    const { insert } = await tableOf(any(arrayOf(arrayOf(int8()))))
    t.strictSame(
      await insert([
        [1n, 2n],
        [-3n, 4n],
      ]),
      [
        [1n, 2n],
        [-3n, 4n],
      ],
    )
    t.strictSame(await insert([]), [])
    for (const wrong of [[[]], [[], []], [[1n], [2n, 3n]], [[1n], []]])
      await t.rejects(insert(wrong), {
        code: 'invalid_request',
        message: 'must be of one length, and not empty',
      })
  })

  t.test('finds no row by a value that it cannot store', async (t) => {
    await sql`create table named (name text primary key)`
    const named = table<{ name: string }, { name: string }>('named', {
      shows: { name: text() },
      takes: { name: text() },
    })
    await named.insert(writes.sql, { name: 'a' })
    const findBy = named.findBy('name')
    t.strictSame(await Promise.all(['a\0', 'a'].map((name) => findBy(reads.sql, name))), [
      undefined,
      { name: 'a' },
    ])
    const list = named.pages({ order: ['name'], filters: { name: 'name' } })
    const message = 'query.name has a character that no text can have'
    await t.rejects(list(reads.sql, { name: '\0', limit: 1 }), { code: 'invalid_request', message })
  })
})
