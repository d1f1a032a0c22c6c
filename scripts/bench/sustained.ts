// Minutes of unbroken load: the rate and the memory, as they go on.

import { residentBytes } from '../stack/processes.js'
import { served } from './comparison.js'
import type { BenchDatabase } from './database.js'
import type { Generator } from './generator.js'
import { operations } from './operations.js'
import { whole } from './report.js'
import { spreadOf } from './statistics.js'
import type { RunningSubject } from './subjects.js'

export interface SustainedParts {
  readonly subject: RunningSubject
  readonly database: BenchDatabase
  readonly generator: Generator
  readonly rows: number
  readonly minutes: number
  readonly connections: number
}

const intervalMs = 10_000
const secondsPerLine = 30

/** Drives all operations in turn, without a pause, and gives the curve as a Markdown table. */
export async function measureSustained(parts: SustainedParts): Promise<string> {
  const { subject, database, generator, rows, minutes, connections } = parts
  const requests = mixed(operations.map((operation) => operation.requests(database.key, rows)))
  const megabytes: number[] = []
  const sampler = setInterval(() => megabytes.push(residentBytes(subject.pid) / 2 ** 20), intervalMs)
  const result = await generator
    .run({ port: subject.port, connections, durationMs: minutes * 60_000, requests })
    .finally(() => clearInterval(sampler))
  servedAll(result.answers, result.broken)
  const rates = result.seconds.slice(0, Math.floor(result.durationMs / 1000)).map(({ served }) => served)
  const lines = chunks(rates, secondsPerLine).map((part, i) => {
    const memory = megabytes.slice((i * secondsPerLine * 1000) / intervalMs)[2] ?? megabytes.at(-1)
    return `| ${(i + 1) * secondsPerLine} | ${whole(spreadOf(part).median)} | ${whole(memory ?? Number.NaN)} |`
  })
  return ['| after s | requests/s | resident MiB |', '|--:|--:|--:|', ...lines, ''].join('\n')
}

// One of each in turn.
function mixed(lists: readonly (readonly string[])[]): string[] {
  const longest = Math.max(...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, i) =>
    lists.map((list) => list[i % list.length] as string),
  ).flat()
}

// All are 200 or 201; `served` wants one of them.
function servedAll(answers: Parameters<typeof served>[0]['answers'], broken: number): void {
  for (const [status, latencies] of Object.entries(answers)) {
    served({ answers: { [status]: latencies }, broken }, 'sustained')
  }
}

function chunks<Each>(values: readonly Each[], size: number): Each[][] {
  return Array.from({ length: Math.floor(values.length / size) }, (_, i) =>
    values.slice(i * size, (i + 1) * size),
  )
}
