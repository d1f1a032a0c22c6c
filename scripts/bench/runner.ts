// Measures subjects under loads in interleaved rounds. In a round, each measurement is the sum of slices that
// alternate with those of other subjects, so that noise affects all alike. Ratios compare measurements of a
// round.

import path from 'node:path'
import { cpuSeconds, mainThreadSeconds, residentBytes } from '../faults/processes.js'
import type { BenchDatabase } from './database.js'
import { createLatencies, generateLoad, type Job, type LoadResult } from './generator.js'
import type { Load, Target } from './loads.js'
import { byId, pagesOf } from './pages.js'
import { hasPgbench, pgbench, runPgbench } from './pgbench.js'
import { type RunningSubject, type Subject, startSubject } from './subjects.js'

/** The surroundings of a benchmark. */
export interface Environment {
  readonly database: BenchDatabase
  /** A temporary folder for logs and pgbench scripts. */
  readonly folder: string
  /** Aborts the run. */
  readonly interruption: AbortSignal
  log(text: string): void
}

/** The subjects and loads to measure, and for how long. */
export interface Plan extends Schedule {
  readonly subjects: readonly Subject[]
  readonly loads: readonly Load[]
  /** True to measure the database alone, too, if pgbench is installed. */
  readonly withPgbench?: boolean
  /** Called at the end with the subjects, which are warm then. */
  readonly afterwards?: (cells: readonly Cell[]) => Promise<void>
}

export interface Schedule {
  readonly rounds: number
  /** The number of slices in a measurement. */
  readonly slices: number
  readonly sliceMs: number
}

/** One subject under one load in one round. Figures that cannot be measured are NaN. */
export interface Measurement {
  readonly subject: string
  readonly load: string
  readonly round: number
  readonly requestsPerSecond: number
  /** Latency percentiles over all slices, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Seconds of CPU time for 1,000 requests: of the subject's process, its main thread, and the database. */
  readonly cpu: number
  readonly mainCpu: number
  readonly databaseCpu: number
  /** Resident memory of the subject's process at the end. */
  readonly residentMiB: number
}

/** The number of connections of a load, unless stated otherwise. */
export const defaultConnections = 64
/**
 * A subject is warm after so many requests of each load. Warm-up is counted, not timed: V8's other threads
 * use up to a third of the subject's CPU until then, so after a fixed time the subject with the most code
 * would be coldest.
 */
export const warmUpRequests = 20_000
const warmUpSliceMs = 500
// For a new load, V8 optimizes again some code that it has optimized for earlier loads.
const warmUpPasses = 2

/** Runs all rounds of a plan. */
export function measure(environment: Environment, plan: Plan): Promise<Measurement[]> {
  const { subjects, loads, rounds } = plan
  return withSubjects(environment, subjects, async (running) => {
    const targets = await targetsOf(environment, running, loads)
    const cells = loads.map((load) => cellsOf(load, targets))
    environment.log('warming up')
    for (let pass = 0; pass < warmUpPasses; pass++) {
      for (const cell of cells.flat()) await warmUp(environment, cell, warmUpRequests / warmUpPasses)
    }
    const measurements: Measurement[] = []
    for (let round = 1; round <= rounds; round++) {
      environment.log(`round ${round} of ${rounds}`)
      for (const [i, load] of loads.entries()) {
        measurements.push(...(await interleave(environment, plan, cells[i] ?? [], round)))
        if (plan.withPgbench) measurements.push(...(await measureDatabase(environment, plan, load, round)))
      }
    }
    await plan.afterwards?.(cells.flat())
    return measurements
  })
}

/** Sends at least so many requests. */
async function warmUp(environment: Environment, cell: Cell, requests: number): Promise<void> {
  for (let count = 0; count < requests; ) {
    count += (await takeSlice(environment, cell, warmUpSliceMs)).total
  }
}

async function targetsOf(
  environment: Environment,
  running: readonly RunningSubject[],
  loads: readonly Load[],
): Promise<ReadonlyMap<RunningSubject, Target>> {
  const hasPages = loads.some(({ isPaged }) => isPaged)
  const targets = new Map<RunningSubject, Target>()
  for (const subject of running) {
    targets.set(subject, hasPages ? await pagedTarget(environment, subject) : environment.database)
  }
  return targets
}

/** Returns the target for loads with pages. */
export async function pagedTarget(
  { database, interruption, log }: Environment,
  subject: RunningSubject,
): Promise<Target> {
  const pageAfter = await pagesOf(subject, database.key, interruption)
  if (pageAfter !== byId) log(`${subject.name} has pages of its own form: followed its links`)
  return { ...database, pageAfter }
}

async function withSubjects<T>(
  { database, folder, interruption }: Environment,
  subjects: readonly Subject[],
  work: (running: RunningSubject[]) => Promise<T>,
): Promise<T> {
  const running: RunningSubject[] = []
  try {
    for (const subject of subjects) {
      const logFile = path.join(folder, `${subject.name}.log`)
      running.push(await startSubject(subject, database.env, logFile, interruption, true))
    }
    return await work(running)
  } finally {
    await Promise.all(running.map((subject) => subject.stop()))
  }
}

/** A subject under a load. */
export interface Cell {
  readonly subject: RunningSubject
  readonly load: Load
  nextRequest(): string
}

function cellsOf(load: Load, targets: ReadonlyMap<RunningSubject, Target>): Cell[] {
  const { needs } = load
  const able = [...targets].filter(([{ features }]) => needs === undefined || features?.includes(needs))
  return able.map(([subject, target]) => ({ subject, load, nextRequest: load.requests(target) }))
}

async function interleave(
  environment: Environment,
  { slices, sliceMs }: Schedule,
  cells: readonly Cell[],
  round: number,
): Promise<Measurement[]> {
  const taken = new Map(cells.map((cell) => [cell, [] as Slice[]]))
  for (let slice = 0; slice < slices; slice++) {
    // Rotates the order, because the position in it may matter.
    const first = (round + slice) % cells.length
    for (const cell of [...cells.slice(first), ...cells.slice(0, first)]) {
      taken.get(cell)?.push(await takeSlice(environment, cell, sliceMs))
    }
  }
  return [...taken].map(([cell, each]) => summarize(cell, each, round))
}

/** The result of a slice, with CPU times in seconds. */
interface Slice extends LoadResult {
  readonly cpu: number
  readonly mainCpu: number
  readonly databaseCpu: number
}

async function takeSlice(
  { database, interruption }: Environment,
  { subject: { name, port, pid, isNode }, load, nextRequest }: Cell,
  durationMs: number,
): Promise<Slice> {
  const secondsOf = () => ({
    cpu: cpuSeconds(pid),
    // A Go or Rust program serves on many threads, so its first thread tells nothing.
    mainCpu: isNode ? mainThreadSeconds(pid) : Number.NaN,
    databaseCpu: databaseSeconds(database),
  })
  const before = secondsOf()
  const job = { port, nextRequest, connections: defaultConnections, durationMs, interruption }
  const result = await generateServedLoad(job, `${name}, ${load.name}`)
  const after = secondsOf()
  return {
    ...result,
    cpu: after.cpu - before.cpu,
    mainCpu: after.mainCpu - before.mainCpu,
    databaseCpu: after.databaseCpu - before.databaseCpu,
  }
}

/**
 * Generates load of which every request must be served: a subject that fails fast must not look fast.
 * @throws {Error} if a response is not 2xx
 */
export async function generateServedLoad(job: Job, title: string): Promise<LoadResult> {
  const result = await generateLoad(job)
  const failures = { ...(result.refused.count > 0 && { 503: result.refused.count }), ...result.others }
  if (Object.keys(failures).length === 0) return result
  throw new Error(`${title}: failed responses ${JSON.stringify(failures)}`)
}

function summarize({ subject, load }: Cell, slices: readonly Slice[], round: number): Measurement {
  const sum = (of: 'durationMs' | 'total' | 'cpu' | 'mainCpu' | 'databaseCpu') =>
    slices.reduce((total, slice) => total + slice[of], 0)
  const served = createLatencies()
  for (const slice of slices) served.add(slice.served)
  return {
    subject: subject.name,
    load: load.name,
    round,
    requestsPerSecond: (served.count / sum('durationMs')) * 1000,
    p50: served.percentile(50) / 1000,
    p99: served.percentile(99) / 1000,
    cpu: (sum('cpu') / sum('total')) * 1000,
    mainCpu: (sum('mainCpu') / sum('total')) * 1000,
    databaseCpu: (sum('databaseCpu') / sum('total')) * 1000,
    residentMiB: residentBytes(subject.pid) / 2 ** 20,
  }
}

const none = Number.NaN
const notMeasured = { p50: none, p99: none, cpu: none, mainCpu: none, residentMiB: none }

async function measureDatabase(
  { database, folder, interruption }: Environment,
  { slices, sliceMs }: Schedule,
  { name, statement }: Load,
  round: number,
): Promise<Measurement[]> {
  if (!hasPgbench || statement === undefined) return []
  const before = databaseSeconds(database)
  const script = { name, statement, rows: database.rows, durationMs: slices * sliceMs }
  const { transactionsPerSecond, count } = await runPgbench(script, database.env, folder, interruption)
  const databaseCpu = ((databaseSeconds(database) - before) / count) * 1000
  const figures = { ...notMeasured, requestsPerSecond: transactionsPerSecond, databaseCpu }
  return [{ subject: pgbench.name, load: name, round, ...figures }]
}

function databaseSeconds({ serverPid }: BenchDatabase): number {
  return serverPid === undefined ? Number.NaN : cpuSeconds(serverPid)
}
