// Whether a page costs the same wherever it stands: lists at several depths of a table that has grown.

import { served } from './comparison.js'
import type { BenchDatabase } from './database.js'
import type { Generator } from './generator.js'
import { cursorAfter, get } from './operations.js'
import { decimal, whole } from './report.js'
import { spreadOf } from './statistics.js'
import type { RunningSubject } from './subjects.js'

export interface GrowthParts {
  readonly subject: RunningSubject
  readonly database: BenchDatabase
  readonly generator: Generator
  readonly rows: number
  readonly connections: number
  tell(text: string): void
}

const rounds = 5
const turnMs = 2_000
const pages = 1_000
const pageStep = 20

/** Gives a Markdown table: requests a second and latencies by depth, with and without a status. */
export async function measureGrowth(parts: GrowthParts): Promise<string> {
  const { rows, tell } = parts
  const depths = [0, rows / 20, rows / 2]
  const cases = [undefined, 'sold'].flatMap((status) => depths.map((depth) => ({ status, depth })))
  const measured = cases.map(() => [] as { rate: number; p50: number; p99: number }[])
  for (let round = 0; round <= rounds; round++) {
    tell(round === 0 ? 'warming up' : `round ${round} of ${rounds}`)
    for (const [i, each] of cases.entries()) {
      const turn = await measure(parts, each.depth, each.status)
      if (round > 0) measured[i]?.push(turn)
    }
  }
  const lines = cases.map(({ status, depth }, i) => {
    const median = (of: 'rate' | 'p50' | 'p99') =>
      spreadOf((measured[i] ?? []).map((turn) => turn[of])).median
    const cells = [whole(median('rate')), decimal(median('p50'), 1), decimal(median('p99'), 1)]
    return `| ${status ?? 'all'} | ${whole(depth)} | ${cells.join(' | ')} |`
  })
  return [
    `${whole(rows)} animals; medians of ${rounds} interleaved rounds.`,
    '',
    '| status | depth | requests/s | p50 ms | p99 ms |',
    '|---|--:|--:|--:|--:|',
    ...lines,
    '',
  ].join('\n')
}

async function measure(
  { subject, database, generator, connections }: GrowthParts,
  depth: number,
  status: string | undefined,
) {
  // Pages from there on: those who ask for one at the same time share its costs.
  const requests = Array.from({ length: pages }, (_, i) => {
    const query = { cursor: cursorAfter(depth + i * pageStep, status), ...(status && { status }) }
    return get(database.key, `/v1/pets?${new URLSearchParams(query)}`)
  })
  const result = await generator.run({ port: subject.port, connections, durationMs: turnMs, requests })
  const { count, p50, p99 } = served(result, `the list after ${depth}`)
  return { rate: (count / result.durationMs) * 1000, p50, p99 }
}
