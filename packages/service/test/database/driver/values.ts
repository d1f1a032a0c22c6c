import t, { type Test } from 'tap'
import type { Sql } from '../../../src/database/database.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

async function open(t: Test): Promise<Sql> {
  const { reads } = await openPools(t, await createDatabase(t))
  return reads.sql
}

async function read(sql: Sql, expression: string): Promise<unknown> {
  const [row] = await sql.unsafe(`select ${expression} as value`)
  return row?.value
}

t.test('values are read in the forms of the contract', async (t) => {
  const sql = await open(t)
  await sql`set time zone 'Asia/Kolkata'`
  for (const [expression, value] of [
    ["timestamptz '2026-02-28 23:30:00.123456-03'", '2026-03-01T08:00:00.123456+05:30'],
    ["date '2026-02-28'", '2026-02-28'],
    ["timetz '23:30:00.5-03'", '23:30:00.5-03:00'],
    ["timestamp '2026-02-28 01:02:03'", '2026-02-28T01:02:03'],
    ['9223372036854775807::bigint', 9223372036854775807n],
    ['19.90::numeric', '19.90'],
    [`'{"a":9007199254740993,"b":[1,0.5]}'::jsonb`, { a: 9007199254740993n, b: [1, 0.5] }],
    [`'{"a":1}'::json`, { a: 1 }],
    [`array['a','',null,'NULL','b"\\,{}','c d']`, ['a', '', null, 'NULL', 'b"\\,{}', 'c d']],
    ["'{}'::text[]", []],
    ['array[1,9223372036854775807]::bigint[]', [1n, 9223372036854775807n]],
    ['array[1,-2]', [1, -2]],
    ['array[0.5]::float8[]', [0.5]],
    ['array[true,false,null]', [true, false, null]],
    ["array[date '2026-02-28']", ['2026-02-28']],
    ["interval '3605 s'", 'PT1H0M5S'],
    ["array[interval '1 year 2 days']", ['P1Y0M2D']],
    ["'[0:1]={a,b}'::text[]", ['a', 'b']],
    ["'{{a,b}}'::text[]", '{{a,b}}'],
    ["array['6f1c1a4e-0000-4000-8000-000000000000'::uuid]", ['6f1c1a4e-0000-4000-8000-000000000000']],
  ] as const)
    t.strictSame(await read(sql, expression), value, expression)
})

t.test('a timestamptz has the offset of the session', async (t) => {
  const sql = await open(t)
  const time = "timestamptz '2026-02-28 23:30:00+00'"
  for (const [zone, value] of [
    ['UTC', '2026-02-28T23:30:00Z'],
    ['Etc/GMT-2', '2026-03-01T01:30:00+02:00'],
    ['Etc/GMT+5', '2026-02-28T18:30:00-05:00'],
  ] as const) {
    await sql.unsafe(`set time zone '${zone}'`)
    t.equal(await read(sql, time), value)
  }
})

t.test('the same forms are accepted as parameters', async (t) => {
  const sql = await open(t)
  const texts = ['a', '', 'NULL', 'b"\\,{}', null]
  const ids = [1n, -(2n ** 63n)]
  const days = ['2016-12-31T23:59:60Z', '2026-02-28T23:30:00.123456+05:30']
  const json = { a: 2n ** 53n + 1n, b: [1, 'x'] }
  const [row] = await sql`
    select ${texts}::text[] as texts, ${ids}::bigint[] as ids, ${ids} = array[1, ${ids[1] ?? 0n}]::bigint[] as same,
      ${sql.json(json)}::jsonb as json, 'a' = any(${texts}) as found, 1::bigint = any(${ids}) as "foundId",
      (${days[0] ?? ''}::timestamptz at time zone 'UTC')::text as leap,
      (${days[1] ?? ''}::timestamptz at time zone 'UTC')::text as exact,
      (${new Date(0)}::timestamptz at time zone 'UTC')::text as epoch,
      ${'2026-02-28'}::date as day, ${'{1,2}'}::int[] as written, ${[]}::int[] as none`
  t.strictSame(
    { ...row },
    {
      texts,
      ids,
      same: true,
      json,
      found: true,
      foundId: true,
      leap: '2017-01-01 00:00:00',
      exact: '2026-02-28 18:00:00.123456',
      epoch: '1970-01-01 00:00:00',
      day: '2026-02-28',
      written: [1, 2],
      none: [],
    },
  )
})

t.test('a statement that is repeated because its table has changed stores the same values', async (t) => {
  const admin = await createDatabase(t)
  await admin`create table notes (flag boolean, bytes bytea, document jsonb, at timestamptz, name text)`
  const { writes } = await openPools(t, admin)
  const document = { a: [true, 2n ** 53n + 1n] }
  const values = [true, Buffer.from('\\x01é'), document, '2026-02-28T18:00:00Z', 'Rex']
  const insert = async () => {
    const [row] = await writes.sql`
      insert into notes values (${true}, ${Buffer.from('\\x01é')}, ${writes.sql.json(document)},
        ${'2026-02-28T18:00:00Z'}, ${'Rex'})
      returning flag, bytes, document, at, name`
    return Object.values({ ...row })
  }
  await writes.sql`set time zone 'UTC'`
  t.strictSame(await insert(), values)
  await admin`alter table notes alter column name type varchar(9)`
  t.strictSame(await insert(), values)
})

// packages/engine/test/runtime/formats.ts tests which texts the formats accept.
t.test('PostgreSQL stores what the formats of dates and times take', async (t) => {
  const sql = await open(t)
  const nines = '9'.repeat(64)
  for (const [type, ...texts] of [
    ['date', '0001-01-01', '9999-12-31'],
    ['timestamptz', `2026-11-25t14:05:59.${nines}-15:59`, '1998-12-31T15:59:60.123-08:00'],
    ['timestamptz', '2016-12-31T23:59:60Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'],
    ['timetz', '23:59:60Z', '00:59:60.5+01:00', `14:05:59.${nines}+15:59`],
    ['interval', 'P99999999Y99999999M99999999DT99999999H99999999M99999999S', 'P306783378W'],
  ] as const)
    for (const text of texts) {
      const [row] = await sql.unsafe(`select $1::text::${type} as value`, [text])
      if (type === 'timestamptz') t.match(row?.value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, text)
      else t.ok(row?.value, text)
    }
})
