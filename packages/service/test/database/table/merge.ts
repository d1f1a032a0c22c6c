// Merge patches (RFC 7396) of JSON columns: alone, by several clients at once, and as requests.

import { RequestError } from 'contract-engine'
import { until } from 'contract-testing/until'
import t from 'tap'
import type { AppParts } from '../../../src/app.js'
import { apiKeys } from '../../../src/auth/api-keys.js'
import { readServiceContract } from '../../../src/auth/plans.js'
import type { Sql } from '../../../src/database/database.js'
import { writeJson } from '../../../src/database/driver/values.js'
import {
  arrayOf,
  int4,
  int8,
  json,
  jsonb,
  nullable,
  optional,
  text,
} from '../../../src/database/table/columns.js'
import { mergedJson } from '../../../src/database/table/merge.js'
import { table } from '../../../src/database/table/table.js'
import { fixture } from '../../fixtures/root.js'
import { createDatabase, openPools, startService } from '../../fixtures/service.js'

t.test('a patch is merged with JSON', async (t) => {
  // The cases of RFC 7396, appendix A, whose patch is an object, and further cases.
  const cases: [stored: string | null, patch: string, result: string][] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    [null, '{"a":{"b":null,"c":1},"d":[null,{"e":null}]}', '{"a":{"c":1},"d":[null,{"e":null}]}'],
    ['"a"', '{"a":1}', '{"a":1}'],
    ['null', '{"a":{}}', '{"a":{}}'],
    ['{"a":5}', '{"a":{"b":1}}', '{"a":{"b":1}}'],
    ['{"a":{"b":1}}', '{}', '{"a":{"b":1}}'],
    ['{"n":9007199254740993,"d":0.12345678901234567890,"z":1.10,"e":1e400}', '{"b":1}', ''],
    ['{"a":1}', '{"__proto__":{"b":1}}', '{"a":1,"__proto__":{"b":1}}'],
    ['{"__proto__":{"b":1,"c":2}}', '{"__proto__":{"b":null}}', '{"__proto__":{"c":2}}'],
    ['{"a":1}', '{"__proto__":null,"constructor":null,"toString":{"b":null}}', '{"a":1,"toString":{}}'],
    ['{"isLosslessNumber":true,"value":"1"}', '{"value":null}', '{"isLosslessNumber":true}'],
    ['{"b":1,"a":2,"b":3}', '{"c":1}', '{"b":3,"a":2,"c":1}'],
  ]
  for (const [stored, patch, result] of cases) {
    const expected = result || `${stored?.slice(0, -1)},${patch.slice(1)}`
    t.equal(mergedJson('a', stored, JSON.parse(patch)), expected, `${stored} ${patch}`)
  }
  t.equal(mergedJson('a', '{"a":1}', { a: undefined, n: 2n ** 63n }), '{"a":1,"n":9223372036854775808}')
  t.equal(Object.getPrototypeOf({}), Object.prototype)
})

t.test('a value grows to 1 MiB by patches, and shrinks from beyond', async (t) => {
  const stored = JSON.stringify({ a: 'ä'.repeat(500_000), b: 'b'.repeat(60_000) })
  t.throws(() => mergedJson('map', stored, { c: 'c' }), {
    code: 'invalid_request',
    message: 'body.map would be longer than 1048576 bytes',
    options: { violations: [{ in: 'body', pointer: '/map' }] },
  })
  t.equal(mergedJson('map', stored, { b: 'c' }).length, 500_016)
  t.ok(mergedJson('map', stored, { b: 'b'.repeat(59_999) }))
})

interface Place {
  readonly id: bigint
  readonly name: string
  readonly tags?: { readonly [name: string]: string }
  readonly at?: {
    readonly country: string
    readonly spot?: { readonly x: bigint; readonly y?: number }
    readonly lines?: readonly (string | null)[]
  }
  readonly more?: unknown
}
type NewPlace = Omit<Place, 'id'>

const taken = {
  name: text(),
  tags: optional(jsonb<NonNullable<Place['tags']>>()),
  at: optional(json<NonNullable<Place['at']>>()),
  more: optional(jsonb<NonNullable<unknown>>() as never),
}
const places = table<Place, NewPlace>('places', { shows: { id: int8(), ...taken }, takes: taken })
const find = places.findBy('id')
const change = places.updateBy('id')
const ddl = `create table places (
  id bigint generated always as identity primary key, name text not null, tags jsonb, at json, more jsonb,
  constraint few check (more <> '"no"'))`

t.test('columns of JSON', async (t) => {
  const sql = await createDatabase(t)
  await sql.unsafe(ddl)
  const { reads, writes } = await openPools(t, sql)
  const add = (place: Partial<NewPlace> = {}) => places.insert(writes.sql, { name: 'a', ...place })

  t.test('keep what a patch does not name', async (t) => {
    const { id } = await add({ tags: { a: '1', b: '2' }, at: { country: 'DE', spot: { x: 2n ** 60n + 1n } } })
    t.match(await change(writes.sql, id, { tags: { c: '3' } }), { tags: { a: '1', b: '2', c: '3' } })
    t.strictSame((await change(writes.sql, id, { tags: { a: null, c: '4' } }))?.tags, { b: '2', c: '4' })
    const at = { country: 'DE', spot: { x: 2n ** 60n + 1n, y: 0.5 }, lines: ['a', null] }
    t.strictSame(
      (await change(writes.sql, id, { at: { spot: { y: 0.5 }, lines: ['a', null] }, name: 'b' }))?.at,
      at,
    )
    t.strictSame(await find(reads.sql, id), { id, name: 'b', tags: { b: '2', c: '4' }, at })
    t.strictSame((await change(writes.sql, id, { at: { spot: null, lines: [] } }))?.at, {
      country: 'DE',
      lines: [],
    })
    t.strictSame(await change(writes.sql, id, { at: null, tags: null }), { id, name: 'b' })
    t.strictSame((await change(writes.sql, id, { tags: { x: null, y: '1' } }))?.tags, { y: '1' })
    for (const more of [{ a: { b: 1 } }, [{ a: null }], 'x', false, { c: 1 }, 2n ** 70n])
      t.strictSame((await change(writes.sql, id, { more }))?.more, more)
    t.equal(await change(writes.sql, 9_999n, { tags: { a: '1' } }), undefined)
  })

  t.test('keep both of two patches at once', async (t) => {
    const { id } = await add({ tags: { first: '0' } })
    const names = Array.from({ length: 40 }, (_, i) => `name ${i}`)
    await Promise.all(names.map((name) => change(writes.sql, id, { tags: { [name]: '1' } })))
    const all = Object.fromEntries(names.map((name) => [name, '1']))
    t.strictSame((await find(reads.sql, id))?.tags, { first: '0', ...all })
    await Promise.all(
      names.map((name, i) => change(writes.sql, id, { tags: { [name]: i % 2 ? null : '2' } })),
    )
    t.strictSame(
      new Set(Object.keys((await find(reads.sql, id))?.tags ?? {})),
      new Set(['first', ...names.filter((_, i) => i % 2 === 0)]),
    )
  })

  t.test('are merged with what is stored when the patch has its turn', async (t) => {
    const { id } = await add({ tags: { a: '1' } })
    let merging: Promise<unknown> = Promise.resolve()
    await sql.begin(async (other) => {
      await other`update places set tags = '{"b": "2"}' where id = ${id}`
      merging = change(writes.sql, id, { tags: { c: '3' } })
      const waiting = () => other`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      await until(async () => (await waiting()).length > 0)
    })
    t.match(await merging, { tags: { b: '2', c: '3' } })
  })

  t.test('of a patch by an entity tag, merge the row that has it', async (t) => {
    const row = await add({ tags: { a: '1' } })
    const condition = { ifMatch: places.etag(row) }
    const both = ['b', 'c'].map((name) => change(writes.sql, row.id, { tags: { [name]: '2' } }, condition))
    const settled = await Promise.allSettled(both)
    t.match(
      settled.filter(({ status }) => status === 'rejected'),
      [{ reason: { code: 'precondition_failed' } }],
    )
    t.equal(Object.keys((await find(reads.sql, row.id))?.tags ?? {}).length, 2)
  })

  t.test('that rows do not show are merged, too', async (t) => {
    const hidden = table<Pick<Place, 'id' | 'name'>, NewPlace>('places', {
      shows: { id: int8(), name: text() },
      takes: taken,
    })
    const { id } = await add({ tags: { a: '1' } })
    t.strictSame(await hidden.updateBy('id')(writes.sql, id, { tags: { b: '2' } }), { id, name: 'a' })
    t.strictSame((await find(reads.sql, id))?.tags, { a: '1', b: '2' })
  })

  t.test('are as they were after a change that is refused', async (t) => {
    const row = await add({ tags: { a: '1' } })
    const refused = { code: 'invalid_request' }
    await t.rejects(change(writes.sql, row.id, { tags: { b: 'x\0' } }), refused)
    await t.rejects(change(writes.sql, row.id, { tags: { b: '2' }, more: 'no' }), { code: '23514' })
    await t.rejects(change(writes.sql, row.id, { tags: { b: '2' }, name: null as never }), {
      ...refused,
      message: 'body.name must not be null',
    })
    t.strictSame(await find(reads.sql, row.id), row)
  })
})

t.test('null is refused of what is required, and stored of what may be null', async (t) => {
  interface Row {
    readonly id: bigint
    readonly note: string | null
    readonly size?: number | null
    readonly list: string[]
  }
  const own = { note: nullable(text()), size: optional(nullable(int4())), list: arrayOf(text()) }
  const rows = table<Row, Omit<Row, 'id'>>('rows', { shows: { id: int8(), ...own }, takes: own })
  const sql = await createDatabase(t)
  await sql`create table rows (
    id bigint generated always as identity primary key, note text, size integer, list text[] not null)`
  const { writes } = await openPools(t, sql)
  const { id } = await rows.insert(writes.sql, { note: 'a', size: 1, list: ['a'] })
  const alter = rows.updateBy('id')
  t.strictSame(await alter(writes.sql, id, { note: null, size: null, list: ['b'] }), {
    id,
    note: null,
    list: ['b'],
  })
  for (const ifMatch of [undefined, '*'])
    await t.rejects(alter(writes.sql, id, { list: null as never }, { ifMatch }), {
      code: 'invalid_request',
      message: 'body.list must not be null',
      options: { violations: [{ in: 'body', pointer: '/list', detail: 'must not be null' }] },
    })
})

interface Call {
  readonly params: { readonly id: bigint }
  readonly headers: { readonly 'if-match'?: string }
  readonly body: NewPlace
}

const contract = await readServiceContract(fixture('places.yaml'))
function shown(place: Place | undefined) {
  if (place === undefined) throw new RequestError('place_not_found', 'There is none.', { status: 404 })
  return { status: 200, headers: { ETag: places.etag(place) }, body: place }
}
const handlers = {
  addPlace: async ({ body }: Call, { sql }: { sql: Sql }) => {
    return { status: 201, body: await places.insert(sql, body) }
  },
  getPlace: async ({ params }: Call, { sql }: { sql: Sql }) => shown(await find(sql, params.id)),
  changePlace: async ({ params, headers, body }: Call, { sql }: { sql: Sql }) =>
    shown(await change(sql, params.id, body, { ifMatch: headers['if-match'] })),
} as unknown as AppParts['handlers'] // of another contract than the project's

t.test('a merge patch', async (t) => {
  const sql = await createDatabase(t)
  await sql.unsafe(ddl)
  const { call } = await startService(t, { sql, contract, handlers, schemes: { key: apiKeys() } })
  const whole = {
    name: 'a',
    tags: { a: '1', b: '2' },
    at: { country: 'DE', spot: { x: 2n ** 62n + 1n, y: 1 } },
  }
  const add = async () => (await call('POST', '/places', { body: writeJson(whole) })).body
  const patch = (id: bigint, body: unknown, headers: Record<string, string> = {}) =>
    call('PATCH', `/places/${id}`, {
      headers: { 'content-type': 'application/merge-patch+json', ...headers },
      body: writeJson(body),
    })
  const get = (id: bigint) => call('GET', `/places/${id}`)

  t.test('responds with what it leaves, as the next read has it', async (t) => {
    const { id } = await add()
    const answer = await patch(id, { tags: { a: null, c: '3' }, at: { spot: { y: null } } })
    const { x } = whole.at.spot
    t.match(answer, { status: 200, body: { tags: { b: '2', c: '3' }, at: { country: 'DE', spot: { x } } } })
    t.match(answer.text, '4611686018427387905')
    const read = await get(id)
    t.equal(read.text, answer.text)
    t.equal(read.headers.get('etag'), answer.headers.get('etag'))
  })

  const refusals: [sent: string, message: string][] = [
    ['{"at":{"country":null}}', 'body.at.country is required'],
    ['{"at":{"spot":{"x":null}}}', 'body.at.spot.x is required'],
    ['{"at":{"zip":1}}', 'body.at.zip is not a known field'],
    ['{"at":{"spot":{"z":1}}}', 'body.at.spot.z is not a known field'],
    ['{"tags":{"c":""}}', 'body.tags.c must have at least 1 character'],
    ['{"tags":{"c":"3","d":"4"}}', 'body.tags must have at most 3 fields'],
    ['{"tags":{"__proto__":""}}', 'body.tags.__proto__ must have at least 1 character'],
    ['{"name":null}', 'body.name must not be null'],
    ['{"name":null,"tags":{"c":"3"}}', 'body.name must not be null'],
  ]
  for (const [sent, message] of refusals)
    t.test(`is refused, and changes nothing: ${message}`, async (t) => {
      const { id } = await add()
      const before = (await get(id)).text
      const headers = { 'content-type': 'application/merge-patch+json' }
      const answer = await call('PATCH', `/places/${id}`, { headers, body: sent })
      t.match(answer, { status: 400, body: { code: 'invalid_request', message } })
      const keyed = { headers: { ...headers, 'idempotency-key': `"key ${id}"` }, body: sent }
      for (const _ of [1, 2]) t.match(await call('PATCH', `/places/${id}`, keyed), { status: 400 })
      t.equal((await get(id)).text, before)
    })

  t.test('of an object where there is none is the object without its nulls', async (t) => {
    const { body } = await call('POST', '/places', { body: { name: 'a' } })
    t.match(await patch(body.id, { at: { spot: { x: 1 } } }), {
      status: 400,
      body: { message: 'body.at.country is required' },
    })
    const answer = await patch(body.id, { at: { country: 'FR', spot: null, lines: [null] } })
    t.strictSame(answer.body.at, { country: 'FR', lines: [null] })
  })

  t.test('is repeated by its key, and not merged again', async (t) => {
    const { id } = await add()
    const headers = { 'idempotency-key': '"merge"' }
    const first = await patch(id, { tags: { a: null } }, headers)
    await patch(id, { tags: { a: 'again' } })
    const again = await patch(id, { tags: { a: null } }, headers)
    t.strictSame([again.status, again.text], [200, first.text])
    t.match((await get(id)).body.tags, { a: 'again' })
    t.match(await patch(id, { tags: { b: null } }, headers), { status: 422 })
  })

  t.test('by an old entity tag changes nothing', async (t) => {
    const { id } = await add()
    const seen = { 'if-match': (await get(id)).headers.get('etag') ?? '' }
    t.equal((await patch(id, { tags: { c: '3' } }, seen)).status, 200)
    t.match(await patch(id, { tags: { a: null } }, seen), { status: 412 })
    t.strictSame((await get(id)).body.tags, { a: '1', b: '2', c: '3' })
  })

  t.test('of other clients at once is kept, too', async (t) => {
    const { id } = await add()
    const sent = Array.from({ length: 20 }, (_, i) => ({ more: { [`m${i}`]: { n: i } } }))
    for (const { status } of await Promise.all(sent.map((each) => patch(id, each)))) t.equal(status, 200)
    t.strictSame((await get(id)).body.more, Object.assign({}, ...sent.map(({ more }) => more)))
  })

  t.test('is nested no deeper than a body may be', async (t) => {
    const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) })
    const { id } = await add()
    t.equal((await patch(id, { more: nested(97) })).status, 200)
    t.equal((await patch(id, { more: nested(98) })).status, 200)
    t.match(await patch(id, { more: nested(99) }), {
      status: 400,
      body: { message: 'The body is nested too deeply.' },
    })
    t.equal((await get(id)).status, 200)
  })
})
