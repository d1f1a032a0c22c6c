// Far more than the service can serve: what becomes of those it admits, of those it refuses, and of the time after.

import type { BenchDatabase } from './database.js'
import type { Generator } from './generator.js'
import type { Latencies, LoadResult } from './load.js'
import { type Operation, operations } from './operations.js'
import { decimal, whole } from './report.js'
import type { RunningSubject } from './subjects.js'

export interface OverloadParts {
  readonly subject: RunningSubject
  readonly database: BenchDatabase
  readonly generator: Generator
  readonly rows: number
  tell(text: string): void
}

const overloadFactor = 4
// Of callers that each wait for their answer, and of a crowd that does not.
const usualConnections = 64
const crowdConnections = 1_000
const measureMs = 5_000
const overloadMs = 10_000
const easyShare = 0.5
const easyMs = 3_000

/** Measures the rate the service can serve, offers four times that, then half of it at once. Gives a Markdown table. */
export async function measureOverload(parts: OverloadParts): Promise<string> {
  const lines: string[] = []
  for (const operation of operations.filter(({ name }) => name === 'list-pages' || name === 'create')) {
    parts.tell(`overload: ${operation.title}`)
    lines.push(...(await overload(parts, operation)))
  }
  return [
    `At most ${usualConnections} connections find the rate; ${whole(crowdConnections)} carry ${overloadFactor} times that, which an answer
does not slow: a request whose turn comes while all of them wait is not sent. Latencies are from the sending of a request to the end of its answer.`,
    '',
    '| | offered/s | sent/s | served/s | served p50 ms | p99 ms | refused/s (503) | refused p50 ms | p99 ms | other |',
    '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|',
    ...lines,
    '',
  ].join('\n')
}

async function overload(parts: OverloadParts, operation: Operation): Promise<string[]> {
  const run = (connections: number, durationMs: number, rate?: number) =>
    parts.generator.run({
      port: parts.subject.port,
      connections,
      durationMs,
      requests: operation.requests(parts.database.key, parts.rows),
      ...(rate !== undefined && { rate }),
    })
  await run(usualConnections, easyMs)
  const able = await run(usualConnections, measureMs)
  const rate = countOf(able, isServed) / (able.durationMs / 1000)
  const before = await run(usualConnections, easyMs, rate * easyShare)
  const crowd = await run(crowdConnections, overloadMs, rate * overloadFactor)
  const after = await run(usualConnections, easyMs, rate * easyShare)
  return [
    line(`${operation.title}, what it can serve`, able, undefined),
    line('half of it', before, rate * easyShare),
    line(`${overloadFactor} times it`, crowd, rate * overloadFactor),
    line('half of it, at once after', after, rate * easyShare),
  ]
}

function line(title: string, result: LoadResult, offered: number | undefined): string {
  const seconds = result.durationMs / 1000
  const all = countOf(result, () => true)
  const served = latenciesOf(result, isServed)
  const refused = latenciesOf(result, (status) => status === 503)
  const others = countOf(result, (status) => !isServed(status) && status !== 503) + result.broken
  return `| ${[
    title,
    offered === undefined ? '-' : whole(offered),
    whole(all / seconds),
    whole(countOf(result, isServed) / seconds),
    decimal(served?.p50 ?? Number.NaN, 1),
    decimal(served?.p99 ?? Number.NaN, 1),
    whole((refused?.count ?? 0) / seconds),
    decimal(refused?.p50 ?? Number.NaN, 1),
    decimal(refused?.p99 ?? Number.NaN, 1),
    whole(others),
  ].join(' | ')} |`
}

const isServed = (status: number) => status >= 200 && status < 300

function countOf({ answers }: LoadResult, wanted: (status: number) => boolean): number {
  const counts = Object.entries(answers).map(([status, { count }]) => (wanted(Number(status)) ? count : 0))
  return counts.reduce((sum, count) => sum + count, 0)
}

function latenciesOf({ answers }: LoadResult, wanted: (status: number) => boolean): Latencies | undefined {
  return Object.entries(answers).find(([status]) => wanted(Number(status)))?.[1]
}
