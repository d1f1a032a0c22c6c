// Measures callers who all connect at once, as when a load balancer moves them, while others are busy: how
// long the last of them waits, and how much the busy callers are delayed.

import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { createLatencies } from './generator.js'
import { getAnimal } from './loads.js'
import { formatDecimal, formatInteger, table } from './report.js'
import { defaultConnections, type Environment, generateServedLoad } from './runner.js'
import { spreadOf } from './statistics.js'
import type { RunningSubject } from './subjects.js'

const callersFile = path.join(projectRoot, 'scripts/bench/new-callers.mjs')
const newCallers = 500
const burstMs = 1_500

interface Burst {
  /**
   * Percentiles of the new callers' waits, and the latency of the busy callers meanwhile, in milliseconds.
   */
  readonly p50: number
  readonly p99: number
  readonly last: number
  readonly busyP99: number
  readonly busyRate: number
}

/** Measures warm subjects in interleaved rounds, and returns a table. */
export async function arrivalsTable(
  environment: Environment,
  running: readonly RunningSubject[],
  rounds: number,
): Promise<string> {
  environment.log(`${newCallers} new callers`)
  const bursts = running.map((subject) => ({ subject, all: [] as Burst[] }))
  for (let round = 0; round < rounds; round++) {
    for (const { subject, all } of bursts) all.push(await burst(environment, subject))
  }
  const lines = bursts.map(({ subject, all }) => {
    const median = (figure: keyof Burst) => spreadOf(all.map((each) => each[figure])).median
    const waits = (['p50', 'p99', 'last', 'busyP99'] as const).map((each) => formatDecimal(median(each), 0))
    return [subject.title, ...waits, formatInteger(median('busyRate'))]
  })
  const columns = ['', 'p50 ms', 'p99 ms', 'the last, ms', 'p99 ms of the busy', 'requests/s of the busy']
  return `${heading}\n\n${table(columns, lines)}`
}

const heading = `### ${newCallers} new callers at once

They connect beside ${defaultConnections} busy connections, from a thread of the generator, and get an animal each: from the call of \`connect\` to
the first byte of the response. The busy ones, over ${burstMs / 1000} s around it. Medians of the rounds.`

async function burst(
  { database, interruption }: Environment,
  { port, name }: RunningSubject,
): Promise<Burst> {
  const nextRequest = getAnimal.requests(database)
  const job = { port, nextRequest, connections: defaultConnections, durationMs: burstMs, interruption }
  const requests = Array.from({ length: newCallers }, nextRequest)
  const [{ served, durationMs }, calls] = await Promise.all([
    generateServedLoad(job, `${name}, ${newCallers} new callers`),
    delay(burstMs / 3).then(() => callAtOnce(port, requests)), // in the middle of the load
  ])
  const waits = createLatencies()
  for (const { ms, status } of calls) {
    if (status !== 200) throw new Error(`${name}: a new caller got ${status}`)
    waits.record(Math.max(1, Math.round(ms * 1000)))
  }
  const [p50 = 0, p99 = 0] = [50, 99].map((each) => waits.percentile(each) / 1000)
  const busyRate = (served.count / durationMs) * 1000
  return { p50, p99, last: waits.max / 1000, busyP99: served.percentile(99) / 1000, busyRate }
}

/** Connects a caller per request, all at once. Rejects if one loses its connection. */
export async function callAtOnce(port: number, requests: readonly string[]): Promise<readonly Call[]> {
  const worker = new Worker(callersFile, { workerData: { port, requests } })
  const [calls] = await once(worker, 'message')
  return calls
}

/** A call, with the time until the first byte of its response. */
export interface Call {
  readonly ms: number
  readonly status: number
}
