// Adds sample animals to the service's database in one transaction, whether the service runs or not.

import { parseArgs } from 'node:util'
import {
  beginPatiently,
  commandLine,
  connect,
  type Database,
  defaultDatabase,
  isUnavailable,
  logBounds,
  OperatorError,
  type Patience,
  print,
  readEnvironment,
  type Sql,
  type Stream,
  type Surroundings,
  UsageError,
  wholeNumber,
} from 'contract-service/command'
import { pino } from 'pino'
import postgres from 'postgres'
import { insertAnimals } from './animals.js'
import { Progress } from './progress.js'

export const usage = `Usage: seed --count N [--append] [--seed N] [--json]

Adds N sample animals to the store in one transaction, whether the service runs or not.

  --count   number of animals, 1 to 100,000,000
  --append  add to a store that already contains animals
  --seed    seed of the random animals, 0 to 4294967295, by default 1; the same seed gives the same animals
  --json    prints the result as JSON: {"added":1000,"seconds":0.1}
  --help    prints this help

Examples:
  ${commandLine('seed', '--count 1000')}
  ${commandLine('seed', '--count 1000000 --append')}
  DATABASE_URL=postgres://me@localhost/store ${commandLine('seed', '--count 1000 --json')}

Reads DATABASE_URL${defaultDatabase}.

Exit codes: 0 success, 1 nothing was added, 2 wrong usage, 130 interrupted and nothing was added.
`

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
  const { count, append = false, seed = '1', json = false } = parseArgs({ args: [...args], options }).values
  if (count === undefined) throw new UsageError('--count N is required')
  return {
    count: wholeNumber('--count', count, 1, 100_000_000),
    append,
    seed: wholeNumber('--seed', seed, 0, 2 ** 32 - 1),
    json,
  }
}

async function add(
  { sql }: Database,
  order: Order,
  patience: Required<Patience>,
  stderr: Stream,
): Promise<void> {
  const { interruption } = patience
  const progress = new Progress(order.count, stderr)
  try {
    await beginPatiently(sql, patience, async (transaction) => {
      const [row] = await transaction<{ isEmpty: boolean }[]>`
        select not exists (select from pets) as "isEmpty"`
      if (row?.isEmpty === false && !order.append)
        throw new OperatorError('The store already contains animals. Use --append to add more.')
      await addInChunks(transaction, order, progress, interruption)
    })
  } catch (error) {
    throw notAdded(error, interruption)
  } finally {
    progress.end()
  }
}

// Small enough to show progress, and to heed an interruption, several times a second.
const animalsPerChunk = 10_000

async function addInChunks(
  sql: Sql,
  { count, seed }: Order,
  progress: Progress,
  interruption: AbortSignal,
): Promise<void> {
  for (let done = 0; done < count; ) {
    interruption.throwIfAborted()
    const next = Math.min(done + animalsPerChunk, count)
    await insertAnimals(sql, seed, done + 1, next)
    done = next
    progress.show(done)
  }
}

// Errors of the database get a message without a stack.
function notAdded(error: unknown, interruption: AbortSignal): unknown {
  if (interruption.aborted) return new OperatorError('Interrupted: nothing was added.')
  if (error instanceof postgres.PostgresError)
    return new OperatorError(`Nothing was added. The database reports: ${error.message}`, { cause: error })
  if (!isUnavailable(error)) return error
  const problem = 'The connection to the database was lost: either all animals were added, or none.'
  return new OperatorError(problem, { cause: error })
}

/** The command `seed`. */
export async function seed(args: readonly string[], surroundings: Surroundings): Promise<undefined> {
  const order = readOrder(args)
  const config = readEnvironment(surroundings)
  const { stdout, stderr, interruption } = surroundings
  const log = pino({ level: 'warn', ...logBounds }, stderr)
  const database = await connect(config, log, interruption)
  const startedAt = performance.now()
  try {
    await add(database, order, { timeoutMs: config.startTimeoutMs, log, interruption }, stderr)
  } finally {
    await database.close(interruption)
  }
  await print(report(order, Math.round((performance.now() - startedAt) / 10) / 100), stdout)
}

function report({ count, json }: Order, seconds: number): string {
  if (json) return `${JSON.stringify({ added: count, seconds })}\n`
  return `${count.toLocaleString('en')} animals added in ${seconds} s.\n`
}
