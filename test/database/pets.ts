import t from 'tap'
import { findPet, listPets } from '../../src/database/pets.js'
import { requestSettings } from '../../src/database/pools.js'
import type { RootSql, Sql } from '../../src/database/types.js'
import { countStatements } from '../fixtures/count.js'
import { statuses } from '../fixtures/facts.js'
import { createDatabase, openPools } from '../fixtures/service.js'

interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

// The statement that a function makes, as text with its values.
async function statementOf(ask: (sql: Sql) => Promise<unknown>): Promise<Statement> {
  let statement: Statement = { text: '', values: [] }
  const note = (strings: TemplateStringsArray, ...values: unknown[]) => {
    statement = { text: strings.reduce((text, each, i) => `${text}$${i}${each}`), values }
    return []
  }
  // Of postgres.js they use the tagged template alone.
  await ask(note as unknown as Sql)
  return statement
}

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: Plan }]
}

type Status = (typeof statuses)[number]
const [common, rare] = statuses

// One animal in 10,000 is of the rare status, and the last ones: where a walk along the ids would take longest to find them.
async function addPets(sql: RootSql): Promise<void> {
  await sql`
    insert into pets (name, category_id, status)
    select 'pet ' || i, i, case when i > 49995 then ${rare}::text when i % 2 = 0 then ${common}::text end
    from generate_series(1, 50000) i`
}

interface Question {
  readonly ask: (sql: Sql) => Promise<unknown>
  readonly count: (rows: readonly Record<string, string | null>[]) => number
  readonly index: RegExp
  readonly found: number
  readonly passedOverMax: number
}

function page(afterId: bigint, status: Status | undefined, found: number): Question {
  const limit = 101
  return {
    ask: (sql) => listPets(sql, { afterId, status, limit }),
    count: ([row]) => JSON.parse(row?.pets ?? '[]').length,
    index: status === undefined ? /^pets_pkey$/ : /^pets_status_id/,
    found,
    passedOverMax: 2 * limit,
  }
}

const questions: [title: string, question: Question][] = [
  ['a page of all', page(0n, undefined, 101)],
  ['a page of all, from the middle', page(25_000n, undefined, 101)],
  ['a page of a common status', page(0n, common, 101)],
  ['a page of a rare status', page(0n, rare, 5)],
  ['a page of a status that none has', page(0n, 'none' as Status, 0)],
  [
    'an animal',
    {
      ask: (sql) => findPet(sql, 25_000n),
      count: ({ length }) => length,
      index: /^pets_pkey$/,
      found: 1,
      passedOverMax: 0,
    },
  ],
]

// A plan is kept, so it is made in each state of a table. Before a vacuum PostgreSQL thinks less of an index alone.
const states: [title: string, prepare: (sql: RootSql, plan: () => Promise<void>) => Promise<void>][] = [
  [
    'that is filled after the plan was made',
    async (sql, plan) => {
      await plan()
      await addPets(sql)
    },
  ],
  [
    'that is just filled',
    async (sql, plan) => {
      await addPets(sql)
      await sql`analyze pets`
      await plan()
    },
  ],
  [
    'that is listed by more than an index holds',
    async (sql, plan) => {
      await addPets(sql)
      await sql`drop index pets_status_id`
      await sql`create index pets_status_id_alone on pets (status, id)`
      await sql`vacuum analyze pets`
      await plan()
    },
  ],
  [
    'that has settled',
    async (sql, plan) => {
      await addPets(sql)
      await sql`vacuum analyze pets`
      await plan()
    },
  ],
]

for (const [state, prepare] of states) {
  t.test(`in a table ${state}`, async (t) => {
    // On one connection, for a plan is one's.
    const sql = await createDatabase(t, { max: 1 })
    await sql`alter table pets set (autovacuum_enabled = off)`
    for (const [name, value] of Object.entries(requestSettings))
      await sql`select set_config(${name}, ${value}, false)`
    const statements = await Promise.all(questions.map(([, { ask }]) => statementOf(ask)))
    await prepare(sql, async () => {
      for (const [i, { text, values }] of statements.entries()) {
        await sql.unsafe(`prepare question${i} as ${text}`)
        await sql.unsafe(`execute question${i}(${literals(values)})`)
      }
    })

    for (const [i, [title, { count, index, found, passedOverMax }]] of questions.entries()) {
      t.test(`${title} reads an index in its order, and little more than it shows`, async (t) => {
        const execute = `execute question${i}(${literals(statements[i]?.values ?? [])})`
        t.equal(count(await sql.unsafe(execute)), found)
        const rows = await sql.unsafe<Explained[]>(`explain (analyze, format json) ${execute}`)
        const nodes = rows.flatMap((row) => nodesOf(row['QUERY PLAN'][0].Plan))
        t.strictSame(
          nodes
            .map((node) => node['Node Type'])
            .filter((type) => !/^(Limit|Index (Only )?Scan|Aggregate|(Function|Subquery) Scan)$/.test(type)),
          [],
        )
        t.match(
          nodes.flatMap((node) => node['Index Name'] ?? []),
          [index],
        )
        const passedOver = nodes.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0)
        t.ok(passedOver <= passedOverMax, `${passedOver} animals are read and passed over`)
      })
    }
  })
}

t.test('callers of one iteration get their own pages, of few statements', async (t) => {
  const sql = await createDatabase(t)
  await addPets(sql)
  const { reads } = await openPools(t, sql)
  const statements = countStatements(reads)
  const asked = Array.from({ length: 40 }, (_, i) => ({
    afterId: BigInt(i * 1_000),
    status: i % 2 === 0 ? undefined : common,
    limit: i + 1,
  }))
  const pages = await Promise.all(asked.map((each) => listPets(reads.sql, each)))
  for (const [i, { afterId, status, limit }] of asked.entries()) {
    const rows = await sql`
      select id from pets where id > ${afterId} and (${status ?? null}::text is null or status = ${status ?? null})
      order by id limit ${limit}`
    t.strictSame(
      pages[i]?.map(({ id }) => id),
      rows.map(({ id }) => id),
    )
  }
  t.equal(statements.count, 4)
})

t.test('what a page holds is exact', async (t) => {
  const sql = await createDatabase(t)
  const max = 2n ** 63n - 1n
  const pets = [
    { id: 2n ** 53n - 1n, name: '9007199254740993', categoryId: -(2n ** 53n) - 1n },
    {
      id: 2n ** 53n + 1n,
      name: 'quotes " and \\ and \u0001 and 🐾',
      categoryId: 0n,
      status: rare,
    },
    { id: max, name: '[1, "2"]', categoryId: -(2n ** 63n) },
  ]
  for (const { id, name, categoryId, status = null } of pets)
    await sql`
      insert into pets (id, name, category_id, status) overriding system value
      values (${id}, ${name}, ${categoryId}, ${status})`
  t.strictSame(await listPets(sql, { afterId: 0n, status: undefined, limit: 10 }), pets)
  t.strictSame(await listPets(sql, { afterId: 0n, status: rare, limit: 10 }), [pets[1]])
  t.strictSame(await listPets(sql, { afterId: max, status: undefined, limit: 10 }), [])
})

function literals(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(', ')
}
