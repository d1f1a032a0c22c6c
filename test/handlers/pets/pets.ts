import { findClientKey } from 'contract-service/internal/database/api-keys'
import type { RootSql, Sql } from 'contract-service/internal/database/database'
import { requestSettings } from 'contract-service/internal/database/pools'
import { claimKeys } from 'contract-service/internal/middleware/stored-responses'
import t from 'tap'
import { findPet, listPets } from '../../../src/handlers/pets/pets.js'
import { countStatements } from '../../fixtures/count.js'
import { statuses } from '../../fixtures/facts.js'
import { createDatabase, openPools } from '../../fixtures/service.js'

interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Total Cost': number
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

// Records the last statement that a function sends: its text and values.
async function statementOf(run: (sql: Sql) => Promise<unknown>): Promise<Statement> {
  const statement: { text: string; values: unknown[] } = { text: '', values: [] }
  const note = (strings: TemplateStringsArray, ...values: (unknown | { part: string })[]) => {
    statement.values = []
    const parts = values.map((value) => partOf(value) ?? `$${statement.values.push(value)}`)
    statement.text = strings.reduce((text, each, i) => `${text}${parts[i - 1]}${each}`)
    return []
  }
  note.unsafe = (text: string, values?: unknown[]) => {
    if (values === undefined) return { part: text }
    Object.assign(statement, { text, values })
    return []
  }
  // The functions use only postgres.js's tagged template, constant parts of it, and whole texts with values.
  await run(note as unknown as Sql).catch(() => {}) // it has no page
  return statement
}

function partOf(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null && 'part' in value ? String(value.part) : undefined
}

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: Plan; readonly JIT?: unknown }]
}

type Status = (typeof statuses)[number]
const [common, rare] = statuses

// The worst case for a scan by id: only the last animals, one in 10,000, have the rare status.
async function addPets(sql: RootSql): Promise<void> {
  await sql`
    insert into pets (name, category_id, status)
    select 'pet ' || i, i, case when i > 49995 then ${rare}::text when i % 2 = 0 then ${common}::text end
    from generate_series(1, 50000) i`
}

interface Query {
  readonly run: (sql: Sql) => Promise<unknown>
  readonly count: (rows: readonly Record<string, string | null>[]) => number
  readonly index: RegExp
  readonly found: number
  readonly removedMax: number
}

function page(after: bigint | undefined, status: Status | undefined, found: number): Query {
  const limit = 101
  return {
    run: (sql) => listPets(sql, { after, status, limit: limit - 1 }),
    count: ([row]) => JSON.parse(row?.columns ?? '[]')[0]?.length ?? 0,
    index: status === undefined ? /^pets_pkey$/ : /^pets_status_id/,
    found,
    removedMax: 2 * limit,
  }
}

const queries: [title: string, query: Query][] = [
  ['a page of all', page(undefined, undefined, 101)],
  ['a page of all, from the middle', page(25_000n, undefined, 101)],
  ['a page of a common status', page(undefined, common, 101)],
  ['a page of a common status, from the middle', page(25_000n, common, 101)],
  ['a page of a rare status', page(undefined, rare, 5)],
  ['a page of a rare status, from the middle', page(49_996n, rare, 4)],
  ['a page of an unused status', page(undefined, 'none' as Status, 0)],
  [
    'an animal',
    {
      run: (sql) => findPet(sql, 25_000n),
      count: (rows) => rows.filter(({ texts }) => texts !== null).length,
      index: /^pets_pkey$/,
      found: 1,
      removedMax: 0,
    },
  ],
  [
    'a key',
    {
      run: (sql) => findClientKey(sql, 'aa'),
      count: ({ length }) => length,
      index: /^api_keys_hash_key$/,
      found: 0,
      removedMax: 0,
    },
  ],
  [
    'the stored response of a key',
    {
      run: (sql) => claimKeys(sql, [{ apiKeyId: '1', key: '7' }], 24),
      count: ({ length }) => length,
      index: /^idempotent_answers_pkey$/,
      found: 1,
      removedMax: 0,
    },
  ],
]

// Plans are cached, so they are made in every state of the table. For instance, index-only scans cost more
// before a VACUUM.
const states: [title: string, prepare: (sql: RootSql, plan: () => Promise<void>) => Promise<void>][] = [
  [
    'filled after planning',
    async (sql, plan) => {
      await plan()
      await addPets(sql)
    },
  ],
  [
    'just filled',
    async (sql, plan) => {
      await addPets(sql)
      await sql`analyze pets`
      await plan()
    },
  ],
  [
    'whose status index does not cover the page',
    async (sql, plan) => {
      await addPets(sql)
      await sql`drop index pets_status_id`
      await sql`create index pets_status_id_alone on pets (status, id)`
      await sql`vacuum analyze pets`
      await plan()
    },
  ],
  [
    'filled and vacuumed',
    async (sql, plan) => {
      await addPets(sql)
      await sql`vacuum analyze pets`
      await plan()
    },
  ],
  [
    'of 100 million animals, by its statistics',
    async (sql, plan) => {
      await addPets(sql)
      await sql`vacuum analyze pets`
      await sql`update pg_class set reltuples = 1e8 where oid = 'pets'::regclass`
      await plan()
    },
  ],
  [
    'on a server with other defaults',
    async (sql, plan) => {
      await addPets(sql)
      await sql`set default_statistics_target = 1`
      await sql`vacuum analyze pets`
      await plan()
    },
  ],
]

// Defaults of a server, a database or a role, each the worst one for the statements of requests.
const otherDefaults = {
  ...{ jit: 'on', jit_above_cost: '0', max_parallel_workers_per_gather: '4' },
  ...{ force_parallel_mode: 'on', debug_parallel_query: 'on' }, // before and since PostgreSQL 16
  ...{ parallel_setup_cost: '0', parallel_tuple_cost: '0' },
  ...{ min_parallel_table_scan_size: '0', min_parallel_index_scan_size: '0' },
  ...{ enable_indexonlyscan: 'off', enable_nestloop: 'off' },
  ...{ enable_indexscan: 'off', enable_tidscan: 'off', enable_sort: 'on', plan_cache_mode: 'auto' },
  ...{ random_page_cost: '1000', seq_page_cost: '0', cpu_index_tuple_cost: '1' },
  ...{ effective_cache_size: '8kB', work_mem: '64kB' },
}

const indexed = /^(Limit|Index (Only )?Scan|Aggregate|Nested Loop|(Function|Subquery) Scan)$/

for (const [state, prepare] of states) {
  t.test(`with a table ${state}`, async (t) => {
    // One connection, because plans are cached per connection.
    const sql = await createDatabase(t, { max: 1 })
    await sql`alter table pets set (autovacuum_enabled = off)`
    // So few rows that PostgreSQL estimates a scan of all to be as fast as an index.
    await sql`
      insert into idempotent_answers (api_key_id, idempotency_key, fingerprint, status, headers)
      select 1, i, sha256('a'), 201, '{}' from generate_series(1, 46) i`
    await sql`analyze idempotent_answers`
    const defaults: Record<string, string> = state.endsWith('other defaults') ? otherDefaults : {}
    for (const [name, value] of [...Object.entries(defaults), ...Object.entries(requestSettings)])
      await sql`select set_config(name, ${value}, false) from pg_settings where name = ${name}`
    const statements = await Promise.all(queries.map(([, { run }]) => statementOf(run)))
    await prepare(sql, async () => {
      for (const [i, { text, values }] of statements.entries()) {
        await sql.unsafe(`prepare query${i} as ${text}`)
        await sql.unsafe(`execute query${i}(${literals(values)})`)
      }
    })

    for (const [i, [title, { count, index, found, removedMax }]] of queries.entries()) {
      t.test(`${title} reads an index in order, and few rows more than it returns`, async (t) => {
        const execute = `execute query${i}(${literals(statements[i]?.values ?? [])})`
        t.equal(count(await sql.unsafe(execute)), found)
        const rows = await sql.unsafe<Explained[]>(`explain (analyze, format json) ${execute}`)
        const cost = rows[0]?.['QUERY PLAN'][0].Plan['Total Cost'] ?? Number.NaN
        const nodes = rows.flatMap((row) => nodesOf(row['QUERY PLAN'][0].Plan))
        t.strictSame(
          nodes.map((node) => node['Node Type']).filter((type) => !indexed.test(type)),
          [],
        )
        t.match(
          nodes.flatMap((node) => node['Index Name'] ?? []),
          [index],
        )
        const removed = nodes.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0)
        t.ok(removed <= removedMax, `${removed} rows removed by filters`)
        // A server without JIT plans it too, but cannot show it.
        const [jit] = await sql`
          select current_setting('jit') = 'on' and current_setting('jit_above_cost')::float8 < ${cost} as "isUsed"`
        t.match([jit, rows[0]?.['QUERY PLAN'][0].JIT], [{ isUsed: false }, undefined])
      })
    }
  })
}

t.test('simultaneous calls get their own pages, by few statements', async (t) => {
  const sql = await createDatabase(t)
  await addPets(sql)
  const { reads } = await openPools(t, sql)
  const statements = countStatements(reads)
  const asked = Array.from({ length: 40 }, (_, i) => ({
    after: BigInt(i * 1_000),
    status: i % 2 === 0 ? undefined : common,
    limit: i + 1,
  }))
  const pages = await Promise.all(asked.map((each) => listPets(reads.sql, each)))
  for (const [i, { after, status, limit }] of asked.entries()) {
    const rows = await sql`
      select id from pets where id > ${after} and (${status ?? null}::text is null or status = ${status ?? null})
      order by id limit ${limit}`
    t.strictSame(
      pages[i]?.items.map(({ id }) => id),
      rows.map(({ id }) => id),
    )
  }
  t.equal(statements.count, 4)
})

t.test('the integers and strings of a page are exact', async (t) => {
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
  t.strictSame(await listPets(sql, { limit: 10 }), { items: pets, next: undefined })
  t.strictSame(await listPets(sql, { status: rare, limit: 10 }), { items: [pets[1]], next: undefined })
  t.strictSame(await listPets(sql, { after: max, limit: 10 }), { items: [], next: undefined })
})

function literals(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(', ')
}
