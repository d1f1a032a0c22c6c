#!/usr/bin/env node
// Fills the store with animals, in the database that the service uses, while it runs or not: all of them or none.

import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { readConfig } from '../src/config.js'
import { connect, type RootSql } from '../src/database/connect.js'
import { copyIn } from '../src/database/copy.js'
import { OperatorError } from '../src/operator-error.js'
import { migrationsFolder } from '../src/project.js'
import { type Animal, animals } from './seed/animals.js'
import { createProgress, type Progress } from './seed/progress.js'

const usage = `Usage: seed --count N [--append] [--seed N] [--json]

Adds N animals to the store, all of them or none, in the database that the service uses, while it runs or not.

  --count   how many, 1 to 100,000,000
  --append  also where there are animals already; without it such a database is left alone
  --seed    other animals: 0 to 4294967295, 1 unless given; the same seed gives the same animals
  --json    what was done, for scripts: {"added":1000,"seconds":0.1}
  --help    this

Examples:
  npm run seed -- --count 1000
  npm run seed -- --count 1000000 --append
  DATABASE_URL=postgres://me@localhost/store npm run --silent seed -- --count 1000 --json

It uses DATABASE_URL, or without it the embedded database in DATA_DIR.

Exit codes: 0 done, 1 nothing was added, 2 wrong usage, 130 interrupted, and nothing was added.
`

class UsageError extends OperatorError {}

interface Order {
  readonly count: number
  readonly append: boolean
  readonly seed: number
  readonly json: boolean
}

const options = {
  count: { type: 'string' },
  append: { type: 'boolean' },
  seed: { type: 'string' },
  json: { type: 'boolean' },
} as const

function readOrder(args: readonly string[]): Order {
  const { count, append = false, seed = '1', json = false } = parse(args)
  if (count === undefined) throw new UsageError('Say how many: --count N')
  return {
    count: wholeNumber('--count', count, 1, 100_000_000),
    append,
    seed: wholeNumber('--seed', seed, 0, 2 ** 32 - 1),
    json,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${option} must be a whole number from ${min} to ${max}`)
}

async function add(sql: RootSql, order: Order, signal: AbortSignal): Promise<void> {
  const progress = createProgress(order.count, process.stderr, () => performance.now())
  try {
    await sql.begin(async (transaction) => {
      await transaction`set local statement_timeout = 0` // however long so many take
      const [row] = await transaction<{ isEmpty: boolean }[]>`
        select not exists (select from pets) as "isEmpty"`
      if (row?.isEmpty === false && !order.append)
        throw new OperatorError('There are animals already. To add to them, say --append.')
      const copy = transaction`copy pets (name, category_id, status) from stdin`
      await copyIn(copy, chunks(order, progress), signal)
    })
  } finally {
    progress.end()
  }
  await tidy(sql)
}

// What the planner goes by, and what keeps pages of one status in their index, would else come a while later.
async function tidy(sql: RootSql): Promise<void> {
  const session = await sql.reserve()
  await session`set statement_timeout = 0`
  await session`vacuum (analyze) pets`
  await session`reset statement_timeout`
  session.release()
}

const animalsPerChunk = 2_000

// PostgreSQL's text format. The names hold neither tabs, line ends nor backslashes.
function* chunks({ count, seed }: Order, progress: Progress): Generator<Buffer> {
  const source = animals(seed)
  for (let done = 0; done < count; ) {
    const size = Math.min(animalsPerChunk, count - done)
    let text = ''
    for (let i = 0; i < size; i++) text += toLine(source.next().value)
    yield Buffer.from(text)
    done += size
    progress.show(done)
  }
}

function toLine({ name, categoryId, status }: Animal): string {
  return `${name}\t${categoryId}\t${status ?? '\\N'}\n`
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(usage)
    return
  }
  const order = readOrder(args)
  const config = readConfig(process.env)
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => controller.abort(new Interrupted('Interrupted: nothing was added.')))
  const log = pino({ level: 'warn' }, process.stderr)
  const database = await connect({ ...config, migrationsFolder, log })
  const startedAt = performance.now()
  try {
    await add(database.sql, order, controller.signal).catch((error) => {
      throw controller.signal.aborted ? controller.signal.reason : error
    })
  } finally {
    await database.close()
  }
  report(order, Math.round((performance.now() - startedAt) / 10) / 100)
}

class Interrupted extends OperatorError {}

function report({ count, json }: Order, seconds: number): void {
  const told = `${count.toLocaleString('en')} animals added in ${seconds} s.`
  process.stdout.write(json ? `${JSON.stringify({ added: count, seconds })}\n` : `${told}\n`)
}

function exitCode(error: unknown): number {
  if (error instanceof UsageError) return 2
  return error instanceof Interrupted ? 130 : 1
}

// What the database itself says needs no stack of ours.
function explain(error: Error): string {
  if (error.name === 'PostgresError') return `Nothing was added. The database says: ${error.message}`
  return error instanceof OperatorError ? error.message : String(error.stack)
}

main(process.argv.slice(2)).catch((error) => {
  const help = error instanceof UsageError ? `\n${usage}` : ''
  process.stderr.write(`${explain(error)}\n${help}`)
  process.exitCode = exitCode(error)
})
