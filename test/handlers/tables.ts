// Each table of the project shows any value that its columns can store in the same form, however the row is
// read.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { textsOf } from 'contract-service/fixtures/columns'
import type { RootSql, Sql } from 'contract-service/internal/database/database'
import type { AnyColumns, Column } from 'contract-service/internal/database/table/columns'
import type { table } from 'contract-service/internal/database/table/table'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { stringify } from 'lossless-json'
import t from 'tap'
import { createDatabase, openPools } from '../fixtures/service.js'

type Row = Record<string, string>
type Table = ReturnType<typeof table<Row, Row>>

const folder = path.join(projectRoot, 'src/handlers')

// Imports the tables that modules of handlers export, from the sources with tsx, or compiled in dist/.
async function tablesOfProject(): Promise<Map<string, Table>> {
  const tables = new Map<string, Table>()
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/(?<!\.d)\.ts$/.test(file)) continue
    const { dir, name } = path.parse(file)
    const built = path.join(import.meta.dirname, '../../src/handlers', dir, name)
    const exported = await import(pathToFileURL(built + path.extname(import.meta.filename)).href)
    for (const each of Object.values(exported)) if (isTable(each)) tables.set(each.name, each)
  }
  return tables
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && 'shows' in value && 'takes' in value
}

// Drops constraints, so that values are stored that a table refuses for other reasons than their type.
async function dropConstraints(sql: RootSql, name: string): Promise<void> {
  await sql.unsafe(`alter table ${name} disable trigger user`)
  const constraints = await sql`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop from pg_constraint
    where conrelid = ${name}::regclass and contype in ('c', 'f', 'u', 'x')`
  for (const { drop } of constraints) await sql.unsafe(`${drop} cascade`)
  const indexes = await sql`
    select format('drop index %s', indexrelid::regclass) as drop from pg_index
    where indrelid = ${name}::regclass and indisunique and not indisprimary`
  for (const { drop } of indexes) await sql.unsafe(drop)
}

// Returns the values of the codec's type that the column's type, such as `varchar(9)`, can store.
async function valuesOf(sql: Sql, name: string, field: string, codec: Column<unknown>) {
  const column = codec.column ?? field
  const [found] = await sql`
    select format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${name}::regclass and attname = ${column}`
  if (found === undefined) throw new Error(`the table ${name} has no column ${column}`)
  const texts = textsOf(codec.type, await labelsOf(sql))
  const cast = texts.map((text) => sql.unsafe(`select $1::text::${found.type}::text as text`, [text]))
  const settled = await Promise.allSettled(cast)
  const fitting = new Set(
    settled.flatMap((each) => (each.status === 'fulfilled' ? [String(each.value[0]?.text)] : [])),
  )
  if (fitting.size === 0) throw new Error(`${column}: no value of ${codec.type} is one of ${found.type}`)
  return [...[...fitting].flatMap((text) => readable(text, codec)), ...nullOf(codec)]
}

// Reads a value, unless it is an array with a null whose elements are never null.
function readable(text: string, { type, read }: Column<unknown>): unknown[] {
  try {
    return [read(text)]
  } catch (error) {
    if (type.endsWith('[]') && (error as Error).message === 'it is null') return []
    throw error
  }
}

// Returns the labels of each enum type.
async function labelsOf(sql: Sql): Promise<ReadonlyMap<string, string[]>> {
  const labels = await sql`
    select format_type(enumtypid, null) as type, array_agg(enumlabel::text order by enumsortorder) as labels
    from pg_enum group by enumtypid`
  return new Map(labels.map(({ type, labels }) => [type, labels]))
}

function nullOf(codec: Column<unknown>): unknown[] {
  try {
    return [codec.read(null)]
  } catch {
    return [] // the field is never null or absent
  }
}

// Returns the fields of the primary key.
async function keyOf(sql: Sql, name: string, columns: AnyColumns): Promise<string[]> {
  const found = await sql`
    select attname from pg_index join pg_attribute on attrelid = indrelid and attnum = any (indkey)
    where indrelid = ${name}::regclass and indisprimary`
  const key = found.map(({ attname }) => attname)
  return Object.keys(columns).filter((field) => key.includes(columns[field]?.column ?? field))
}

// Returns as many rows as the largest number of a column's values, or as the values of a key that clients
// choose.
async function rowsOf(sql: Sql, { name, takes }: Table): Promise<Row[]> {
  const columns = Object.entries(takes as AnyColumns)
  const values = new Map<string, unknown[]>()
  for (const [field, codec] of columns) values.set(field, await valuesOf(sql, name, field, codec))
  const lengths = (await keyOf(sql, name, takes as AnyColumns)).map((field) => values.get(field)?.length ?? 0)
  const count = Math.min(...lengths, Math.max(...[...values.values()].map(({ length }) => length)))
  return Array.from({ length: count }, (_, i) => {
    const row = [...values].map(([field, values]) => [field, values[i % values.length]] as const)
    return Object.fromEntries(row.filter(([, value]) => value !== undefined)) as Row
  })
}

// Returns the columns that may be null in a row, although their field is never null or absent.
async function lackingOf(sql: Sql, { name, shows }: Table): Promise<string[]> {
  const found = await sql`
    select attname from pg_attribute where attrelid = ${name}::regclass and attnum > 0 and not attnotnull`
  const nulls = found.map(({ attname }) => attname)
  return Object.entries(shows as AnyColumns)
    .filter(([, codec]) => nullOf(codec).length === 0)
    .map(([field, { column = field }]) => column)
    .filter((column) => nulls.includes(column))
}

t.test('each table', async (t) => {
  for (const [name, rows] of await tablesOfProject()) {
    t.test(`${name} shows a row in one form`, async (t) => {
      const sql = await createDatabase(t)
      await dropConstraints(sql, name)
      const { reads, writes } = await openPools(t, sql)
      t.strictSame(await lackingOf(sql, rows), [], 'columns of fields that are always there are not null')
      const given = await rowsOf(reads.sql, rows)
      const added: Row[] = []
      for (const each of given) added.push(await rows.insert(writes.sql, each))
      t.ok(added.length > 0, `of ${added.length}`)
      const kept = Object.keys(rows.shows).filter((field) => field in rows.takes)
      const ofKept = (rows: readonly Row[]) => rows.map((row) => kept.map((field) => row[field] ?? null))
      t.strictSame(textsIn(ofKept(added)), textsIn(ofKept(given)), 'as it was given')

      const key = (await keyOf(sql, name, rows.shows as AnyColumns)) as [never, ...never[]]
      const own = rows.read(await reads.sql`select ${rows.shown(reads.sql)} from ${sql.unsafe(name)}`)
      const sameRows = (found: readonly Row[]) => t.strictSame(textsIn(found).sort(), textsIn(added).sort())
      sameRows(own)
      if (key[0] === undefined) return // rows do not show it
      sameRows((await rows.pages({ order: key })(reads.sql, { limit: added.length })).items)
      const [field] = key
      if (key.length > 1 || field === undefined) return
      const findBy = rows.findBy(field)
      const found = await Promise.all(added.map((row) => findBy(reads.sql, row[field] as string)))
      t.strictSame(textsIn(found), textsIn(added))
    })
  }
})

function textsIn(rows: readonly unknown[]): (string | undefined)[] {
  return rows.map((row) => stringify(row))
}
