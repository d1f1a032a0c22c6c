// Interleaved rounds: in each, every operation of every subject has its turn, and a ratio is made of two turns of one
// round. A turn is taken in slices, one subject's after another's, so that what else the machine does meanwhile, it does to all.

import { cpuSeconds } from '../stack/processes.js'
import type { BenchDatabase } from './database.js'
import type { Generator } from './generator.js'
import type { Latencies, LoadResult } from './load.js'
import { type Operation, operations } from './operations.js'
import { hasPgbench, runPgbench } from './pgbench.js'
import { spreadOf } from './statistics.js'
import type { RunningSubject } from './subjects.js'

export interface Settings {
  readonly rounds: number
  /** Of a turn. */
  readonly slices: number
  readonly sliceMs: number
  readonly warmUpMs: number
  readonly connections: number
  readonly rows: number
}

/** One subject's turn at one operation. */
export interface Turn {
  readonly subject: string
  readonly operation: string
  readonly round: number
  readonly requestsPerSecond: number
  /** Medians of the slices, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Seconds of processor time for 1,000 requests. */
  readonly cpu: number
  readonly databaseCpu: number
}

export interface ComparisonParts {
  readonly subjects: readonly RunningSubject[]
  readonly database: BenchDatabase
  readonly generator: Generator
  readonly folder: string
  readonly settings: Settings
  tell(text: string): void
}

/** Name and title of the turns that pgbench takes. */
export const pgbench = { name: 'pgbench', title: 'pgbench, 10 clients: the database alone' }

/** Runs all rounds. */
export async function compare(parts: ComparisonParts): Promise<Turn[]> {
  const { settings, tell } = parts
  const turns: Turn[] = []
  tell('warming up')
  for (const operation of operations) {
    for (const subject of parts.subjects) await warmUp(parts, subject, operation)
  }
  for (let round = 1; round <= settings.rounds; round++) {
    tell(`round ${round} of ${settings.rounds}`)
    for (const operation of operations) turns.push(...(await takeTurns(parts, operation, round)))
  }
  return turns
}

// By requests as well as by time: what runs for the first time is slow, the more so on a busy machine.
async function warmUp(parts: ComparisonParts, subject: RunningSubject, operation: Operation): Promise<void> {
  for (let count = 0; count < warmUpRequests; ) {
    const result = await drive(parts, subject, operation, parts.settings.warmUpMs)
    count += served(result, `${subject.name}, ${operation.name}`).count
  }
}

const warmUpRequests = 2_000

interface Slice extends Latencies {
  readonly durationMs: number
  readonly total: number
  /** Seconds of processor time. */
  readonly cpu: number
  readonly databaseCpu: number
}

async function takeTurns(parts: ComparisonParts, operation: Operation, round: number): Promise<Turn[]> {
  const { subjects, settings } = parts
  const slices = new Map(subjects.map(({ name }) => [name, [] as Slice[]]))
  for (let slice = 0; slice < settings.slices; slice++) {
    // Another begins each time, for a place in the order may be worth something.
    const first = (round + slice) % subjects.length
    for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
      slices.get(subject.name)?.push(await takeSlice(parts, subject, operation))
    }
  }
  const turns = [...slices].map(([subject, each]) => turnOf(subject, operation, round, each))
  if (hasPgbench) turns.push(await takePgbenchTurn(parts, operation, round))
  return turns
}

async function takeSlice(
  parts: ComparisonParts,
  subject: RunningSubject,
  operation: Operation,
): Promise<Slice> {
  const { database, settings } = parts
  const before = used(subject.pid, database)
  const result = await drive(parts, subject, operation, settings.sliceMs)
  const after = used(subject.pid, database)
  return {
    ...served(result, `${subject.name}, ${operation.name}`),
    durationMs: result.durationMs,
    total: result.total,
    cpu: after.cpu - before.cpu,
    databaseCpu: after.databaseCpu - before.databaseCpu,
  }
}

function turnOf(subject: string, { name }: Operation, round: number, slices: readonly Slice[]): Turn {
  const sum = (of: keyof Slice) => slices.reduce((total, slice) => total + slice[of], 0)
  const median = (of: keyof Slice) => spreadOf(slices.map((slice) => slice[of])).median
  const [count, total] = [sum('count'), sum('total')]
  return {
    subject,
    operation: name,
    round,
    requestsPerSecond: (count / sum('durationMs')) * 1000,
    p50: median('p50'),
    p99: median('p99'),
    cpu: (sum('cpu') / total) * 1000,
    databaseCpu: (sum('databaseCpu') / total) * 1000,
  }
}

function used(pid: number, { serverPid }: BenchDatabase) {
  return { cpu: cpuSeconds(pid), databaseCpu: serverPid === undefined ? Number.NaN : cpuSeconds(serverPid) }
}

function drive(
  { generator, database, settings }: ComparisonParts,
  { port }: RunningSubject,
  operation: Operation,
  durationMs: number,
): Promise<LoadResult> {
  const { connections, rows } = settings
  return generator.run({ port, connections, durationMs, requests: operation.requests(database.key, rows) })
}

async function takePgbenchTurn(
  { database, folder, settings }: ComparisonParts,
  operation: Operation,
  round: number,
): Promise<Turn> {
  const { serverPid, env } = database
  const before = serverPid === undefined ? Number.NaN : cpuSeconds(serverPid)
  const { transactionsPerSecond, count } = await runPgbench(operation, env, folder, {
    rows: settings.rows,
    durationMs: settings.slices * settings.sliceMs,
  })
  const databaseCpu = serverPid === undefined ? Number.NaN : cpuSeconds(serverPid) - before
  return {
    subject: pgbench.name,
    operation: operation.name,
    round,
    requestsPerSecond: transactionsPerSecond,
    p50: Number.NaN,
    p99: Number.NaN,
    cpu: Number.NaN,
    databaseCpu: (databaseCpu / count) * 1000,
  }
}

/** The latencies of a turn in which nothing went wrong; a subject that refuses quickly must not look fast. */
export function served({ answers, broken }: Pick<LoadResult, 'answers' | 'broken'>, what: string): Latencies {
  const statuses = Object.keys(answers)
  const [status = ''] = statuses
  if (statuses.length !== 1 || !/^2..$/.test(status) || broken > 0) {
    const counts = Object.entries(answers).map(([each, { count }]) => `${count} times ${each}`)
    throw new Error(`${what}: answered ${counts.join(', ') || 'nothing'}; ${broken} connections broke`)
  }
  return answers[status] as Latencies
}
