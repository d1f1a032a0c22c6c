// Each statement gets its own rows, from a server that may fail anywhere.

import { Random } from 'contract-testing/random-schemas'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { Pool } from '../../../src/database/driver/pool.js'
import { prepared, type Sql } from '../../../src/database/driver/sql.js'
import { valueTypes } from '../../../src/database/driver/values.js'
import { isUnavailable } from '../../../src/database/unavailable.js'
import { type Script, scripted, startScripted } from '../../fixtures/scripted-postgres.js'

const seed = Number(process.env.SEED ?? 1)

async function start(t: Test, { size = 1, depth = 32, of = seed } = {}) {
  const random = new Random(of)
  const port = await startScripted(t, random)
  const options = { host: '127.0.0.1', port, username: 'a', types: valueTypes, fetch_types: false }
  const make = (hooks: object) => postgres({ ...options, ...hooks })
  const pool = new Pool({ size, depth, readTimeoutMs: 10_000, make })
  t.teardown(() => pool.end(0))
  const run = (script: Script, by: Protocol = 'prepared') => ways[by](pool.sql, scripted(script))
  return { random, pool, run }
}

// The ways in which postgres.js sends a statement: in one piece; prepared; or with parameters, whose types it
// first asks for.
const ways = {
  simple: (sql: Sql, text: string) => sql.unsafe(text),
  prepared: (sql: Sql, text: string) => sql(Object.assign([text], { raw: [text] })),
  parameters: (sql: Sql, text: string) => sql.unsafe(`${text} $1`, ['a'], prepared),
} as const
type Protocol = keyof typeof ways
const protocols = Object.keys(ways) as Protocol[] // the object has no other keys

const rowsOf = ({ id, rows }: Script) => Array.from({ length: rows }, (_, place) => ({ id, place }))

t.test('a statement that fails behind its first rows leaves none to the next', async (t) => {
  const { run } = await start(t)
  for (const protocol of protocols)
    for (const error of ['parse', 'bind', 0, 1, 2, 5] as const) {
      await t.rejects(run({ id: `fails at ${error}`, rows: 5, error }, protocol), { code: '57014' })
      const next = { id: `follows ${error}`, rows: 3 }
      t.strictSame([...(await run(next, protocol))], rowsOf(next))
    }
})

t.test(
  'statements that are pipelined, some of which fail anywhere, get their own rows or an error',
  async (t) => {
    const { random, run } = await start(t, { size: 2 })
    const scripts = Array.from({ length: 3_000 }, (_, i): Script => {
      const rows = random.below(6)
      const error = random.pick(['parse', 'bind', random.below(rows + 1)] as const)
      return { id: String(i), rows, ...(random.is(0.3) && { error }) }
    })
    const settled = await Promise.allSettled(scripts.map((script) => run(script, random.pick(protocols))))
    for (const [i, script] of scripts.entries()) {
      const outcome = settled[i]
      const isRight =
        outcome?.status === 'fulfilled'
          ? script.error === undefined && JSON.stringify(outcome.value) === JSON.stringify(rowsOf(script))
          : script.error !== undefined && outcome?.reason.code === '57014'
      if (!isRight) t.fail('another result', { seed, script, outcome })
    }
    t.pass(`${scripts.length} statements`)
  },
)

for (const counts of [1, 3])
  t.test(`2 rows of which the server counts ${counts} are no result, and end the connection`, async (t) => {
    const { pool, run } = await start(t)
    const [wrong, behind] = await Promise.allSettled([
      run({ id: 'wrong', rows: 2, counts }),
      run({ id: 'behind', rows: 1 }),
    ])
    t.match(wrong, { status: 'rejected', reason: { message: /other rows than the database has counted/ } })
    t.match(behind, { status: 'rejected', reason: { code: 'CONNECTION_CLOSED' } })
    t.ok(isUnavailable(Object(wrong).reason), 'which callers may repeat')
    const next = { id: 'next', rows: 2 }
    t.strictSame([...(await run(next))], rowsOf(next))
    t.match(pool.counts, { active: 1, retiring: 0 })
  })
