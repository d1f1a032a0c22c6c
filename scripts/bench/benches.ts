// The benchmarks. Each one measures and returns a table of the results.

import type { RecordableHistogram } from 'node:perf_hooks'
import { RedisServer } from 'contract-service/fixtures/redis-server'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { debianBinaries, withDebianPostgres } from '../faults/debian-postgres.js'
import { allocationsTable } from './allocations.js'
import { arrivalsTable } from './arrivals.js'
import { startDatabase } from './database.js'
import { generateLoad, type LoadResult } from './generator.js'
import { type Load, listFromDepth, mixedLoad, overloads } from './loads.js'
import { pgbench } from './pgbench.js'
import { plot } from './plot.js'
import { comparisonTables, formatDecimal, formatInteger, rateCells, rateColumns, table } from './report.js'
import { type Cell, defaultConnections, type Environment, measure, type Schedule } from './runner.js'
import { spreadOf } from './statistics.js'
import { buildSubjects, type Subject, service, startSubject } from './subjects.js'

export interface Bench {
  /** The base name of its result files. */
  readonly name: string
  readonly title: string
  /** The number of animals in the table. */
  readonly rows: number
  run(environment: Environment): Promise<Results>
}

export interface Results {
  /** Markdown. */
  readonly text: string
  /** SVG. */
  readonly picture?: string
}

const rows = 1_000_000
const quick: Schedule = { rounds: 3, slices: 2, sliceMs: 250 }
const thorough: Schedule = { rounds: 7, slices: 6, sliceMs: 300 }

/** Compares the service with baselines. */
export function compareSubjects(
  baselines: readonly Subject[],
  loads: readonly Load[],
  isQuick: boolean,
): Bench {
  return {
    name: isQuick ? 'quick' : 'speed',
    title: 'Speed',
    rows,
    run: async (environment) => {
      const { log, interruption } = environment
      const subjects = await buildSubjects([service, ...baselines], log, interruption)
      const schedule = isQuick ? quick : thorough
      const more: string[] = []
      const afterwards = async (cells: readonly Cell[]) => {
        const running = [...new Set(cells.map(({ subject }) => subject))]
        more.push(await arrivalsTable(environment, running, schedule.rounds))
        more.push(await allocationsTable(environment, cells))
      }
      const plan = { ...schedule, subjects, loads, withPgbench: true, afterwards }
      const measurements = await measure(environment, plan)
      const comparison = { measurements, subjects: [...subjects, pgbench], loads }
      return { text: [comparisonTables(comparison), ...more].join('\n'), picture: plot(comparison) }
    },
  }
}

const countersGoals = { 'list-pages': 0.8, 'list-pages-by-status': 0.8, get: 0.8, create: 0.8 }

/** Compares rate-limit counters in Redis with counters in memory. */
export function compareCounters(loads: readonly Load[], isQuick: boolean): Bench {
  return {
    name: 'redis',
    title: 'Redis',
    rows,
    run: async (environment) => {
      const server = await RedisServer.start(environment.folder)
      try {
        const env = { REDIS_URL: server.url }
        const subjects = [
          { ...service, name: 'service-redis', title: 'Counters in Redis', env },
          { ...service, title: 'Counters in memory', goals: countersGoals },
        ]
        const measurements = await measure(environment, { ...(isQuick ? quick : thorough), subjects, loads })
        return { text: comparisonTables({ measurements, subjects, loads }) }
      } finally {
        await server.kill()
      }
    },
  }
}

const growthRows = 10_000_000
const growthSchedule: Schedule = { rounds: 5, slices: 1, sliceMs: 2_000 }

/**
 * Measures lists at several depths of a large table: with keyset pagination, all should cost the same. If a
 * server of Debian's packages is installed, measures that too: its JIT makes plans for large tables slow.
 */
export const growth: Bench = {
  name: 'growth',
  title: 'Growth',
  rows: growthRows,
  run: async (environment) => {
    const own = await growthOn(environment)
    const bin = debianBinaries()
    if (bin === undefined) return { text: own }
    const { log, interruption } = environment
    const debian = await withDebianPostgres(bin, async (url) => {
      log(`creating the same database with ${bin}`)
      const database = await startDatabase(url, growthRows, interruption)
      try {
        return await growthOn({ ...environment, database })
      } finally {
        await database.close()
      }
    })
    return { text: `${own}\n${debian}` }
  },
}

async function growthOn(environment: Environment): Promise<string> {
  const cases = [undefined, 'sold'].flatMap((status) =>
    [0, growthRows / 20, growthRows / 2].map((depth) => ({ depth, load: listFromDepth(depth, status) })),
  )
  const plan = { ...growthSchedule, subjects: [service], loads: cases.map(({ load }) => load) }
  const measurements = await measure(environment, plan)
  const lines = cases.map(({ depth, load: { name, title } }) => {
    return [title, formatInteger(depth), ...rateCells(measurements.filter(({ load }) => load === name))]
  })
  const size = `${formatInteger(growthRows)} animals`
  const rounds = `medians of ${growthSchedule.rounds} interleaved rounds`
  const heading = `PostgreSQL ${environment.database.version}, ${size}; ${rounds}.`
  return `${heading}\n\n${table(['status', 'depth', ...rateColumns], lines)}`
}

const sustainedSliceMs = 30_000

/** Measures throughput and memory every half minute under continuous load. */
export function sustain(minutes: number): Bench {
  return {
    name: 'sustained',
    title: `Sustained load for ${minutes} min`,
    rows,
    run: async (environment) => {
      const rounds = Math.round((minutes * 60_000) / sustainedSliceMs)
      const schedule: Schedule = { rounds, slices: 1, sliceMs: sustainedSliceMs }
      const plan = { ...schedule, subjects: [service], loads: [mixedLoad] }
      const lines = (await measure(environment, plan)).map(({ round, requestsPerSecond, residentMiB }) =>
        [(round * sustainedSliceMs) / 1000, requestsPerSecond, residentMiB].map(formatInteger),
      )
      return { text: table(['after s', 'requests/s', 'resident MiB'], lines) }
    },
  }
}

const starts = 5

/**
 * Measures the time from process start to the first response, with an embedded and with an external database.
 */
export const start: Bench = {
  name: 'start',
  title: 'Start',
  rows,
  run: async ({ database, folder, interruption }) => {
    const startTime = async (env: Readonly<Record<string, string>>) => {
      const running = await startSubject(service, env, `${folder}/start.log`, interruption)
      await running.stop()
      return running.startMs
    }
    const startTimes = async (env: Readonly<Record<string, string>>) => {
      const times: number[] = []
      while (times.length < starts) times.push(await startTime(env))
      const { median, min, max } = spreadOf(times)
      return `${formatInteger(median)} (${formatInteger(min)} to ${formatInteger(max)})`
    }
    return inTemporaryDirectory(async (directory) => {
      const embedded = { DATA_DIR: directory }
      await startTime(embedded) // creates the database
      const lines = [
        ['embedded, existing, not running', await startTimes(embedded)],
        ['`DATABASE_URL`', await startTimes(database.env)],
      ]
      return { text: table(['database', 'ms to the first response, median (minimum to maximum)'], lines) }
    })
  },
}

const overloadFactor = 4
// Below and above WORK_MAX, the number of requests that the service handles at a time.
const connectionCounts = [1_000, 8_000]

/** Offers four times the service's capacity. Measures served and refused requests, and the recovery. */
export const overload: Bench = {
  name: 'overload',
  title: 'Overload',
  rows,
  run: async (environment) => {
    const { database, folder, interruption } = environment
    const { port, stop } = await startSubject(service, database.env, `${folder}/overload.log`, interruption)
    try {
      const lines: string[][] = []
      for (const load of overloads) lines.push(...(await overloadWith(environment, port, load)))
      const counts = connectionCounts.map(formatInteger).join(' and ')
      const heading = `The capacity is measured closed-loop with ${defaultConnections} connections.
${overloadFactor} times the capacity is offered open-loop on ${counts} connections:
a request that is due while all connections are busy is not sent. Latencies are measured from the sending of a
request to the end of its response.`
      const columns = ['offered/s', 'sent/s', 'served/s', 'served p50 ms', 'p99 ms', 'refused/s (503)']
      return { text: `${heading}\n\n${table(['', ...columns, 'refused p50 ms', 'p99 ms', 'other'], lines)}` }
    } finally {
      await stop()
    }
  },
}

async function overloadWith({ database, interruption, log }: Environment, port: number, load: Load) {
  log(`overload: ${load.title}`)
  const nextRequest = load.requests(database)
  const run = (connections: number, durationMs: number, rate?: number) => {
    const job = { port, nextRequest, connections, durationMs, interruption }
    return generateLoad({ ...job, ...(rate !== undefined && { rate }) })
  }
  await run(defaultConnections, 3_000) // warm-up
  const capacity = await run(defaultConnections, 5_000)
  const rate = (capacity.served.count / capacity.durationMs) * 1000
  const [half, excess] = [rate / 2, rate * overloadFactor]
  const lines = [
    overloadCells(`${load.title}, capacity`, capacity, Number.NaN),
    overloadCells('half the capacity', await run(defaultConnections, 3_000, half), half),
  ]
  for (const connections of connectionCounts) {
    const title = `${overloadFactor} times the capacity, ${formatInteger(connections)} connections`
    lines.push(overloadCells(title, await run(connections, 10_000, excess), excess))
    lines.push(
      overloadCells('half the capacity, right after', await run(defaultConnections, 3_000, half), half),
    )
  }
  return lines
}

function overloadCells(title: string, result: LoadResult, offered: number): string[] {
  const { served, refused, durationMs } = result
  const others = Object.values(result.others).reduce((sum, count) => sum + count, 0)
  const perSecond = (count: number) => formatInteger((count / durationMs) * 1000)
  const percentiles = (latencies: RecordableHistogram) =>
    [50, 99].map((each) =>
      latencies.count === 0 ? '-' : formatDecimal(latencies.percentile(each) / 1000, 1),
    )
  const sent = served.count + refused.count + others
  return [
    ...[title, formatInteger(offered), perSecond(sent), perSecond(served.count), ...percentiles(served)],
    ...[perSecond(refused.count), ...percentiles(refused), formatInteger(others)],
  ]
}
