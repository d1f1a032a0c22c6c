import t from 'tap'
import type { RootSql, Sql } from '../../src/database/connect.js'
import { listPets } from '../../src/database/pets.js'
import { createDatabase } from '../fixtures/service.js'

interface Plan {
  readonly 'Node Type': string
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

// The statement that a list makes, as text with its values.
async function statementOf(
  options: Parameters<typeof listPets>[1],
): Promise<{ text: string; values: unknown[] }> {
  let statement = { text: '', values: [] as unknown[] }
  const note = (strings: TemplateStringsArray, ...values: unknown[]) => {
    statement = { text: strings.reduce((text, each, i) => `${text}$${i}${each}`), values }
    return []
  }
  // Of postgres.js a list uses the tagged template alone.
  await listPets(note as unknown as Sql, options)
  return statement
}

type Row = Record<string, unknown>

// One animal in 10,000 is sold, and the last ones: where a walk along the ids would take longest to find them.
async function addPets(sql: RootSql): Promise<void> {
  await sql`
    insert into pets (name, category_id, status)
    select 'pet ' || i, i, case when i > 49995 then 'sold' when i % 2 = 0 then 'available' end
    from generate_series(1, 50000) i`
}

const lists: [title: string, options: Parameters<typeof listPets>[1], found: number][] = [
  ['of all', { afterId: 0n, status: undefined, limit: 101 }, 101],
  ['of all, from the middle', { afterId: 25_000n, status: undefined, limit: 101 }, 101],
  ['of a common status', { afterId: 0n, status: 'available', limit: 101 }, 101],
  ['of a rare status', { afterId: 0n, status: 'sold', limit: 101 }, 5],
  ['of a status that none has', { afterId: 0n, status: 'pending', limit: 101 }, 0],
]

// Before a vacuum PostgreSQL thinks less of an index alone. From the sixth time on it may plan a statement
// without its values, and then does not know which status is rare.
const states: [title: string, prepare: string, mode: string][] = [
  ['just filled', 'analyze pets', 'auto'],
  ['just filled, and the plan without values', 'analyze pets', 'force_generic_plan'],
  [
    'listed by more than an index holds, and the plan without values',
    'drop index pets_status_id; create index on pets (status, id); vacuum analyze pets',
    'force_generic_plan',
  ],
  ['settled', 'vacuum analyze pets', 'auto'],
  ['settled, and the plan without values', 'vacuum analyze pets', 'force_generic_plan'],
]

for (const [state, prepare, mode] of states) {
  t.test(`in a table that is ${state}, a page of a list`, async (t) => {
    const sql = await createDatabase(t)
    await addPets(sql)
    for (const statement of prepare.split('; ')) await sql.unsafe(statement)

    for (const [title, options, found] of lists) {
      t.test(`${title} reads an index in its order, and little more than it shows`, async (t) => {
        const { text, values } = await statementOf(options)
        const usual = await statementOf({ ...options, status: options.status && 'available' })
        const explained = await sql.begin(async (sql) => {
          await sql`select set_config('plan_cache_mode', ${mode}, true)`
          await sql.unsafe(`prepare list as ${text}`)
          for (let i = 0; i < 10; i++) await sql.unsafe(`execute list(${literals(usual.values)})`)
          const rows = await sql.unsafe<Row[]>(`execute list(${literals(values)})`)
          t.equal(rows.length, found)
          const [row] = await sql.unsafe<Row[]>(
            `explain (analyze, format json) execute list(${literals(values)})`,
          )
          await sql`deallocate list`
          return row?.['QUERY PLAN']
        })
        const [{ Plan: plan }] = explained as [{ Plan: Plan }]
        const nodes = nodesOf(plan)
        t.ok(nodes.some((node) => /^Index (Only )?Scan$/.test(node['Node Type'])))
        t.strictSame(
          nodes.filter((node) => /Seq Scan|Sort|Bitmap/.test(node['Node Type'])),
          [],
        )
        const passedOver = nodes.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0)
        t.ok(passedOver <= 2 * options.limit, `${passedOver} animals are read and passed over`)
      })
    }
  })
}

function literals(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(', ')
}
