// What can be measured: each bench is a plan for the runner, or a course of its own, and a table of what came of it.

import type { RecordableHistogram } from 'node:perf_hooks'
import { makeTemporaryDirectory } from '../lib/directory.js'
import { RedisServer } from '../lib/redis.js'
import { generateLoad, type LoadResult } from './generator.js'
import { type Load, listFromDepth, mixedLoad, overloads } from './loads.js'
import { pgbench } from './pgbench.js'
import { plot } from './plot.js'
import { comparisonTables, decimal, rateCells, rateColumns, table, whole } from './report.js'
import { type Environment, measure, type Schedule, usualConnections, withSubjects } from './runner.js'
import { spreadOf } from './statistics.js'
import { buildSubjects, type Subject, service, startSubject } from './subjects.js'

export interface Bench {
  /** Of the files of its results. */
  readonly name: string
  readonly title: string
  /** Animals in the database. */
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
const quick: Schedule = { rounds: 3, slices: 2, sliceMs: 250, warmUpMs: 500 }
const thorough: Schedule = { rounds: 7, slices: 6, sliceMs: 300, warmUpMs: 2_000 }

/** The service beside baselines. */
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
      const plan = { ...(isQuick ? quick : thorough), subjects, loads, withPgbench: true }
      const measurements = await measure(environment, plan)
      const comparison = { measurements, subjects: [...subjects, pgbench], loads }
      return { text: comparisonTables(comparison), picture: plot(comparison) }
    },
  }
}

const countersGoals = { list: 0.8, 'list-by-status': 0.8, get: 0.8, create: 0.8 }

/** The service with its counters in Redis, beside the service with them in memory. */
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
const growthSchedule: Schedule = { rounds: 5, slices: 1, sliceMs: 2_000, warmUpMs: 2_000 }

/** Whether a page costs the same wherever it stands: lists at several depths of a table that has grown. */
export const growth: Bench = {
  name: 'growth',
  title: 'Growth',
  rows: growthRows,
  run: async (environment) => {
    const cases = [undefined, 'sold'].flatMap((status) =>
      [0, growthRows / 20, growthRows / 2].map((depth) => ({ depth, load: listFromDepth(depth, status) })),
    )
    const plan = { ...growthSchedule, subjects: [service], loads: cases.map(({ load }) => load) }
    const measurements = await measure(environment, plan)
    const lines = cases.map(({ depth, load: { name, title } }) => {
      return [title, whole(depth), ...rateCells(measurements.filter(({ load }) => load === name))]
    })
    const heading = `${whole(growthRows)} animals; medians of ${growthSchedule.rounds} interleaved rounds.`
    return { text: `${heading}\n\n${table(['status', 'depth', ...rateColumns], lines)}` }
  },
}

const sustainedSliceMs = 30_000

/** Minutes of load: the rate and the memory, as they go on. */
export function sustain(minutes: number): Bench {
  return {
    name: 'sustained',
    title: `Unbroken load for ${minutes} min`,
    rows,
    run: async (environment) => {
      const rounds = Math.round((minutes * 60_000) / sustainedSliceMs)
      const schedule: Schedule = { rounds, slices: 1, sliceMs: sustainedSliceMs, warmUpMs: 1_000 }
      const plan = { ...schedule, subjects: [service], loads: [mixedLoad] }
      const lines = (await measure(environment, plan)).map(({ round, requestsPerSecond, residentMiB }) =>
        [(round * sustainedSliceMs) / 1000, requestsPerSecond, residentMiB].map(whole),
      )
      return { text: table(['after s', 'requests/s', 'resident MiB'], lines) }
    },
  }
}

const starts = 5

/** From the start of the process to its first response, on either kind of database. */
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
      return `${whole(median)} (${whole(min)} to ${whole(max)})`
    }
    const { directory, remove } = await makeTemporaryDirectory()
    try {
      const embedded = { DATA_DIR: directory }
      await startTime(embedded) // makes the database
      const lines = [
        ['embedded, made before, not running', await startTimes(embedded)],
        ['`DATABASE_URL`', await startTimes(database.env)],
      ]
      return { text: table(['database', 'ms to the first answer, median (minimum to maximum)'], lines) }
    } finally {
      await remove()
    }
  },
}

const overloadFactor = 4
// Fewer and more than the requests that the service takes at a time.
const crowds = [1_000, 8_000]

/** Four times what the service can serve: what becomes of those it admits, of those it refuses, and of the time after. */
export const overload: Bench = {
  name: 'overload',
  title: 'Overload',
  rows,
  run: (environment) =>
    withSubjects(environment, [service], async (running) => {
      const lines: string[][] = []
      for (const { port } of running) {
        for (const load of overloads) lines.push(...(await overloadBy(environment, port, load)))
      }
      const heading = `${usualConnections} connections find the rate, closed-loop; ${crowds.map(whole).join(' and ')} carry ${overloadFactor} times that, open-loop:
a request whose time comes while all of them wait is not sent. Latencies are from the sending of a request to the end of its response.`
      const columns = ['offered/s', 'sent/s', 'served/s', 'served p50 ms', 'p99 ms', 'refused/s (503)']
      return { text: `${heading}\n\n${table(['', ...columns, 'refused p50 ms', 'p99 ms', 'other'], lines)}` }
    }),
}

async function overloadBy({ database, interruption, log }: Environment, port: number, load: Load) {
  log(`overload: ${load.title}`)
  const nextRequest = load.requests(database)
  const run = (connections: number, durationMs: number, rate?: number) => {
    const job = { port, nextRequest, connections, durationMs, interruption }
    return generateLoad({ ...job, ...(rate !== undefined && { rate }) })
  }
  await run(usualConnections, 3_000) // warms up
  const able = await run(usualConnections, 5_000)
  const rate = (able.served.count / able.durationMs) * 1000
  const [half, many] = [rate / 2, rate * overloadFactor]
  const lines = [
    overloadCells(`${load.title}, what it can serve`, able, Number.NaN),
    overloadCells('half of it', await run(usualConnections, 3_000, half), half),
  ]
  for (const crowd of crowds) {
    const title = `${overloadFactor} times it, ${whole(crowd)} connections`
    lines.push(overloadCells(title, await run(crowd, 10_000, many), many))
    lines.push(overloadCells('half of it, at once after', await run(usualConnections, 3_000, half), half))
  }
  return lines
}

function overloadCells(title: string, result: LoadResult, offered: number): string[] {
  const { served, refused, durationMs } = result
  const others = Object.values(result.others).reduce((sum, count) => sum + count, 0)
  const perSecond = (count: number) => whole((count / durationMs) * 1000)
  const percentiles = (latencies: RecordableHistogram) =>
    [50, 99].map((each) => (latencies.count === 0 ? '-' : decimal(latencies.percentile(each) / 1000, 1)))
  const sent = served.count + refused.count + others
  return [
    ...[title, whole(offered), perSecond(sent), perSecond(served.count), ...percentiles(served)],
    ...[perSecond(refused.count), ...percentiles(refused), whole(others)],
  ]
}
