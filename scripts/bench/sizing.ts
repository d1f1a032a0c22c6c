// Measures what an instance needs: memory and CPU by the number of connections, and disk space for its rows.

import { setTimeout as delay } from 'node:timers/promises'
import type { RootSql } from 'contract-service/internal/database/database'
import { cpuSeconds, peakResidentBytes, residentBytes } from '../faults/processes.js'
import type { Bench } from './benches.js'
import { Connection } from './connection.js'
import type { Job } from './generator.js'
import { creations, type Load, mixedLoad } from './loads.js'
import { formatDecimal, formatInteger, table } from './report.js'
import {
  defaultConnections,
  type Environment,
  generateServedLoad,
  pagedTarget,
  warmUpRequests,
} from './runner.js'
import { buildSubjects, type RunningSubject, type Subject, service, startSubject } from './subjects.js'

// As in deploy/kubernetes/: with metrics, and the heap size that Node chooses in 512 MiB.
const env = { METRICS_PORT: '0', NODE_OPTIONS: '--max-old-space-size=256' }
const connectionCounts = [1, 100, 1_000]
const restMs = 3_000
const loadMs = 15_000
const measureMs = 10_000

/**
 * Measures a new instance for each number of connections, beside the baselines. Also measures the growth of
 * the service's tables.
 */
export function sizing(baselines: readonly Subject[]): Bench {
  return {
    name: 'sizing',
    title: 'What an instance needs',
    rows: 100_000,
    run: async (environment) => {
      const { log, interruption } = environment
      const needs: string[][] = []
      for (const subject of await buildSubjects([service, ...baselines], log, interruption)) {
        for (const count of connectionCounts)
          needs.push(await withInstance(environment, subject, (each) => needsOf(environment, each, count)))
      }
      const growth: string[][] = []
      for (const load of creations)
        growth.push(await withInstance(environment, service, (each) => growthBy(environment, each, load)))
      return {
        text: `${needsHeading}\n\n${table(needsColumns, needs)}\n${growthHeading}\n\n${table(growthColumns, growth)}`,
      }
    },
  }
}

const needsHeading = `Of the process; Node's has a heap of 256 MiB. Resident memory: after one request on each connection, one after the
other; and at most, when each connection sends lists, gets and creations in turn, each as soon as the last response
has arrived, for ${loadMs / 1000} s. CPU time, once V8 has optimized: under the same load, and at one request a second on each connection.`
const needsColumns = [
  '',
  'connections',
  'memory at rest, MiB',
  'under full load, MiB',
  'CPU s per 1,000 requests under full load',
  'CPU at one request a second each',
]

const growthHeading = `PostgreSQL's disk for 1,000,000 creations, in MB, from ${loadMs / 1000} s of them on ${defaultConnections} connections.`
const growthColumns = [
  '',
  'animals',
  'their indexes',
  'stored responses',
  'their indexes',
  'in all',
  'write-ahead log',
]

async function withInstance<T>(
  { database, folder, interruption }: Environment,
  subject: Subject,
  work: (instance: RunningSubject) => Promise<T>,
): Promise<T> {
  const deployed = { ...subject, env: { ...env, ...subject.env } }
  const instance = await startSubject(deployed, database.env, `${folder}/sizing.log`, interruption)
  try {
    return await work(instance)
  } finally {
    await instance.stop()
  }
}

async function needsOf(
  environment: Environment,
  instance: RunningSubject,
  connections: number,
): Promise<string[]> {
  const { interruption, log } = environment
  const { pid, port, title, name } = instance
  log(`${name}, connections: ${connections}`)
  const nextRequest = mixedLoad.requests(await pagedTarget(environment, instance))
  const cpuOf = async (job: Partial<Job>) => {
    const defaults = { port, nextRequest, connections, durationMs: loadMs, interruption }
    const before = cpuSeconds(pid)
    const { total } = await generateServedLoad({ ...defaults, ...job }, mixedLoad.title)
    return { seconds: cpuSeconds(pid) - before, total }
  }
  const atRest = await restingBytes(pid, port, nextRequest, connections)
  await cpuOf({})
  const underLoad = peakResidentBytes(pid)
  for (let sent = 0; sent < warmUpRequests; )
    sent += (await cpuOf({ connections: defaultConnections, durationMs: measureMs })).total
  const full = await cpuOf({ durationMs: measureMs })
  const paced = await cpuOf({ rate: connections })
  return [
    title,
    ...[connections, atRest / 2 ** 20, underLoad / 2 ** 20].map(formatInteger),
    formatDecimal((full.seconds / full.total) * 1000, 3),
    `${formatDecimal((paced.seconds / loadMs) * 100_000, 1)} %`,
  ]
}

// Opens one connection after the other, so that no burst of requests is measured.
async function restingBytes(
  pid: number,
  port: number,
  nextRequest: () => string,
  count: number,
): Promise<number> {
  const connections = Array.from({ length: count }, () => new Connection(port))
  try {
    for (const connection of connections) await connection.exchange(nextRequest())
    await delay(restMs)
    return residentBytes(pid)
  } finally {
    for (const connection of connections) connection.close()
  }
}

async function growthBy(
  { database, interruption, log }: Environment,
  { port }: RunningSubject,
  load: Load,
): Promise<string[]> {
  log(`disk: ${load.title}`)
  const before = await diskBytes(database.sql)
  const job = { port, nextRequest: load.requests(database), connections: defaultConnections, interruption }
  const { total } = await generateServedLoad({ ...job, durationMs: loadMs }, load.title)
  const grown = (await diskBytes(database.sql)).map((bytes, i) => bytes - (before[i] ?? 0))
  const [written = 0, ...stored] = grown
  const perMillion = [...stored, stored.reduce((sum, bytes) => sum + bytes, 0), written]
  return [load.title, ...perMillion.map((bytes) => formatInteger(bytes / total))]
}

// Returns the bytes of the write-ahead log so far, and of each part of the tables.
async function diskBytes(sql: RootSql): Promise<number[]> {
  const [row] = await sql<Record<string, number>[]>`
    select
      (pg_current_wal_insert_lsn() - '0/0')::float8 as written,
      pg_table_size('pets')::float8 as pets,
      pg_indexes_size('pets')::float8 as pets_indexes,
      pg_table_size('idempotent_answers')::float8 as answers,
      pg_indexes_size('idempotent_answers')::float8 as answers_indexes`
  return Object.values(row ?? {})
}
