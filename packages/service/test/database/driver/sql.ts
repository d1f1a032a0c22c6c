import postgres from 'postgres'
import t from 'tap'
import { createSql, type RootSql, type Sql, Statement } from '../../../src/database/driver/sql.js'
import { valueTypes } from '../../../src/database/driver/values.js'

// It never connects: its tags pass their statements to `dispatch`.
const template = postgres({ max: 1, types: valueTypes }) as unknown as RootSql
t.teardown(() => template.end())

const ways: readonly [title: string, build: (sql: Sql) => unknown][] = [
  ['a template', (sql) => sql`select 1`],
  ['a template with parameters', (sql) => sql`select ${1}, ${[1n]}, ${sql.json({ a: 1n })}`],
  ['a text', (sql) => sql.unsafe('select 1')],
  ['a text, by a method that was taken off its tag', ({ unsafe }) => unsafe('select 1')],
  ['a text, by a tag that has been given more', (sql) => Object.assign(sql, { more: 1 }).unsafe('select 1')],
]

for (const [title, build] of ways)
  t.test(`each tag sends by its own dispatch: ${title}`, async (t) => {
    const sent: string[] = []
    const tags = ['one', 'other'].map((name) => createSql(template, () => void sent.push(name)))
    for (const i of [0, 1, 0]) (build(tags[i] as Sql) as Statement).execute() // both tags exist
    t.strictSame(sent, ['one', 'other', 'one'])
  })

// Resolves with the text that is sent, or the error instead.
async function sentBy(build: (sql: Sql) => unknown): Promise<unknown> {
  const sql = createSql(template, (statement) => statement.resolve([] as never))
  try {
    await (build(sql) as Promise<unknown>)
  } catch (error) {
    return error
  }
  return 'sent'
}

const texts: readonly [title: string, build: (sql: Sql, text: string) => unknown][] = [
  ['a value', (sql, text) => sql`select ${text}`],
  ['a value of a type', (sql, text) => sql`select ${sql.typed(text, 25)}`],
  ['an array', (sql, text) => sql`select ${['a', text]}`],
  ['a value in a part', (sql, text) => sql`select 1 ${sql`where a = ${text}`}`],
  ['a field of a row', (sql, text) => sql`insert into a ${sql({ name: text })}`],
  ['a list', (sql, text) => sql`select 1 where a in ${sql([text])}`],
  ['JSON', (sql, text) => sql`select ${sql.json({ a: [text] })}`],
  ['a name in JSON', (sql, text) => sql`select ${sql.json({ [text]: 1n })}`],
  ['an object', (sql, text) => sql`select ${{ a: text } as never}`],
  ['a text', (sql, text) => sql.unsafe('select $1', [text])],
  ['an array of a text', (sql, text) => sql.unsafe('select $1', [[text]])],
]

for (const [title, build] of texts)
  t.test(`what PostgreSQL cannot store is not sent: ${title}`, async (t) => {
    for (const text of ['\0', 'a\0b', '\ud800', '\udfffa', 'a\\\ud800'])
      t.match(await sentBy(async (sql) => build(sql, text)), { name: 'UnstorableText', code: '22021' })
    for (const text of ['', 'é😀', '\\ud800', '\\\\u0000', '\u0001'])
      t.equal(await sentBy(async (sql) => build(sql, text)), 'sent', JSON.stringify(text))
  })

t.test('what builds a part of a statement works without its tag, and sends nothing', async (t) => {
  const sql = createSql(template, () => t.fail('it is sent'))
  const { array, json, typed, types } = sql
  t.match(json({ id: 9_007_199_254_740_993n }), { value: '{"id":9007199254740993}', type: 705 })
  t.match(json(null), { value: null, type: 705 })
  t.match(typed('a', 25), { value: 'a', type: 25 })
  t.match(array(['a'], 25), { value: ['a'], type: 25 })
  t.ok(types)
  t.notOk((sql(['id', 'name']) as unknown) instanceof Statement)
})

t.test('a tag has the pool, the signal and the probes that it was made with', async (t) => {
  const source = { pool: {} as Sql['pool'] & object, signal: { aborted: false }, probes: new Set<never>() }
  const { pool, signal, probes } = createSql(template, () => {}, source)
  t.strictSame([pool, signal, probes], [source.pool, source.signal, source.probes])
  const bare = createSql(template, () => {})
  t.strictSame([bare.pool, bare.signal, bare.probes, bare.only, bare.part], Array(5).fill(undefined))
})
