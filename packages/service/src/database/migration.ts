// A migration: a file of SQL, its statements, and their errors.

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../lib/operator-error.js'
import type { Sql } from './database.js'
import { placeOf, type Statement, statementsOf } from './sql-statements.js'
import { codeOf } from './unavailable.js'

export interface Migration {
  readonly name: string
  readonly text: string
  /** SHA-256 of the text in hex. */
  readonly checksum: string
  /** False if the first line says `-- no-transaction`. */
  readonly isTransactional: boolean
}

/** Returns the names of the migrations in folders and their subfolders, in the order in which they apply. */
export async function migrationNames(folders: readonly string[]): Promise<string[]> {
  return (await migrationFiles(folders)).map((file) => path.basename(file))
}

/**
 * Reads the migrations in folders and their subfolders, in the order in which they apply.
 * @throws {OperatorError} if the name of a `.sql` file lacks the number that orders it
 */
export async function readMigrations(folders: readonly string[]): Promise<Migration[]> {
  const files = await migrationFiles(folders)
  return Promise.all(
    files.map(async (file) => migrationOf(path.basename(file), await readFile(file, 'utf8'))),
  )
}

async function migrationFiles(folders: readonly string[]): Promise<string[]> {
  const files = (await Promise.all(folders.map(filesIn))).flat().filter((file) => file.endsWith('.sql'))
  const unnumbered = files.find((file) => !/^\d{4}-[\w-]+\.sql$/.test(path.basename(file)))
  if (unnumbered !== undefined)
    throw new OperatorError(
      `${unnumbered}: the name of a migration is four digits, a hyphen and words: 0100-books.sql`,
    )
  return files.sort((a, b) => (path.basename(a) < path.basename(b) ? -1 : 1))
}

// A project may have no migrations of its own.
async function filesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true }).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return files.map((file) => path.join(folder, file))
}

function migrationOf(name: string, text: string): Migration {
  const checksum = createHash('sha256').update(text).digest('hex')
  return { name, text, checksum, isTransactional: !/^--\s*no[- ]transaction\b/i.test(text) }
}

/** Runs the statements of a migration. An error names the file, the line and, if known, the column. */
export async function runStatements(sql: Sql, migration: Migration): Promise<void> {
  for (const statement of statementsOf(migration.text)) await run(sql, migration, statement)
}

/**
 * Runs a migration whose statement cannot run in a transaction. It may run twice, because nobody knows
 * whether an interrupted attempt was completed.
 * @throws {OperatorError} if the file has several statements, or one that cannot be repeated
 */
export async function runAlone(session: Sql, migration: Migration): Promise<void> {
  const [statement, ...others] = statementsOf(migration.text)
  if (statement === undefined || others.length > 0)
    throw new OperatorError(`${migration.name}: without a transaction, a migration is one statement.`)
  checkRepeatable(migration, statement)
  await dropUnfinishedIndex(session, statement)
  await run(session, migration, statement)
}

const index = String.raw`("(?:[^"]|"")+"|[^\s"(]+)`
const table = String.raw`((?:"(?:[^"]|"")+"|[^\s"(])+)`
const build = new RegExp(
  String.raw`^create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+${index}` +
    String.raw`\s+on\s+(?:only\s+)?${table}`,
  'i',
)
const unrepeatable = /^(?:create\s+(?:unique\s+)?|drop\s+)index\s+concurrently\s+(?!if\s)/i

// The process may end after the statement and before its record, so the statement must accept an existing
// index.
function checkRepeatable(migration: Migration, { code, start }: Statement): void {
  if (!unrepeatable.test(code)) return
  const condition = /^drop/i.test(code) ? 'if exists' : 'if not exists'
  throw new OperatorError(
    `${placeIn(migration, start)}: add "${condition}" and a name, because the statement may run twice.`,
  )
}

// An interrupted CREATE INDEX CONCURRENTLY leaves an invalid index. PostgreSQL keeps it up to date and never
// uses it, and `if not exists` takes it for the wanted index.
async function dropUnfinishedIndex(session: Sql, { code }: Statement): Promise<void> {
  const [, name, table] = build.exec(code) ?? []
  if (name === undefined || table === undefined) return
  const found = await session<{ name: string }[]>`
    select format('%I.%I', nspname, relname) as name
    from pg_index
    join pg_class on pg_class.oid = indexrelid
    join pg_namespace on pg_namespace.oid = relnamespace
    where indrelid = to_regclass(${table}) and relname = (parse_ident(${name}))[1] and not indisvalid`
  for (const { name } of found) await session.unsafe(`drop index concurrently if exists ${name}`)
}

type PostgresError = Error & { readonly position?: string }

async function run(sql: Sql, migration: Migration, statement: Statement): Promise<void> {
  await sql.unsafe(statement.text).catch((error: PostgresError) => {
    const advice = codeOf(error) === '25001' ? '; begin the file with "-- no-transaction"' : ''
    error.message = `${placeOfError(migration, statement, error)}: ${error.message}${advice}`
    throw error
  })
}

// PostgreSQL's position counts characters, from 1; JavaScript's index counts UTF-16 code units.
function placeOfError(migration: Migration, { text, start }: Statement, error: PostgresError): string {
  if (error.position === undefined) return placeIn(migration, start)
  const before = [...text].slice(0, Number(error.position) - 1).join('')
  const { line, column } = placeOf(migration.text, start + before.length)
  return `${migration.name}:${line}:${column}`
}

function placeIn({ name, text }: Migration, index: number): string {
  return `${name}:${placeOf(text, index).line}`
}
