// Tables of the results, in Markdown.

import type { Titled } from './loads.js'
import type { Measurement } from './runner.js'
import { type Spread, spreadOf } from './statistics.js'
import type { Goals } from './subjects.js'

/** A comparison of the first subject with the others. */
export interface Comparison {
  readonly measurements: readonly Measurement[]
  readonly subjects: readonly (Titled & { readonly goals?: Goals })[]
  readonly loads: readonly Titled[]
}

/**
 * Returns a table of the subjects for each load, and one of the ratios between the first subject and the
 * others.
 */
export function comparisonTables(comparison: Comparison): string {
  const { measurements, subjects, loads } = comparison
  return [
    ...loads.map(({ name, title }) => {
      const own = measurements.filter(({ load }) => load === name)
      return `### ${title}\n\n${loadTable(own, subjects)}`
    }),
    '### Ratios\n',
    `${subjects[0]?.title}, relative to each of the others: median of the rounds (minimum to maximum). ` +
      'One that is further from 1 than its rounds are apart is a difference; any other is shown as ~1. A missed ' +
      'goal is shown.\n',
    ratioTable(comparison),
  ].join('\n')
}

function loadTable(measurements: readonly Measurement[], subjects: readonly Titled[]): string {
  const rows = subjects.flatMap(({ name, title }) => {
    const own = measurements.filter(({ subject }) => subject === name)
    const cpu = (['cpu', 'mainCpu', 'databaseCpu'] as const).map((figure) =>
      formatDecimal(medianOf(own, figure), 3),
    )
    return own.length === 0 ? [] : [[title, ...rateCells(own), ...cpu]]
  })
  const cpus = ['process', 'its main thread', 'database'].map((each) => `CPU s per 1,000, ${each}`)
  return table([...['', ...rateColumns], ...cpus], rows)
}

function ratioTable(comparison: Comparison): string {
  const [, ...others] = comparison.subjects
  const columns = comparison.loads.map((load) => ({
    title: load.title,
    spreads: others.map(({ name }) => ratios(comparison, name, load.name)),
    goals: others.map(({ goals }) => goals?.[load.name] ?? 0),
  }))
  const compared = columns.filter(({ spreads }) => spreads.some((spread) => spread !== undefined))
  const rows = others.map(({ title }, i) => [
    title,
    ...compared.map(({ spreads, goals }) => ratioText(spreads[i], goals[i] ?? 0)),
  ])
  return table(['to', ...compared.map(({ title }) => title)], rows)
}

// Returns the ratio of the first subject's rate to a baseline's, round by round.
function ratios({ measurements, subjects }: Comparison, baseline: string, load: string): Spread | undefined {
  const ratesOf = (name: string | undefined) =>
    measurements.filter((each) => each.load === load && each.subject === name)
  const values = ratesOf(baseline).flatMap(({ round, requestsPerSecond }) =>
    ratesOf(subjects[0]?.name)
      .filter((own) => own.round === round)
      .map((own) => own.requestsPerSecond / requestsPerSecond),
  )
  return values.length === 0 ? undefined : spreadOf(values)
}

function ratioText(spread: Spread | undefined, goal: number): string {
  if (spread === undefined) return '-'
  const [median, min, max] = [spread.median, spread.min, spread.max].map((each) => each.toFixed(2))
  const isDifference = Math.abs(spread.median - 1) > spread.max - spread.min
  return `${isDifference ? median : '~1'} (${min} to ${max})${spread.median < goal ? `, goal ${goal}` : ''}`
}

/** Column headings for `rateCells`. */
export const rateColumns = ['requests/s', 'p50 ms', 'p99 ms']

/** Returns cells with the median rate and latencies. */
export function rateCells(measurements: readonly Measurement[]): string[] {
  const latencies = (['p50', 'p99'] as const).map((figure) =>
    formatDecimal(medianOf(measurements, figure), 1),
  )
  return [formatInteger(medianOf(measurements, 'requestsPerSecond')), ...latencies]
}

type Figure = 'requestsPerSecond' | 'p50' | 'p99' | 'cpu' | 'mainCpu' | 'databaseCpu'

function medianOf(measurements: readonly Measurement[], figure: Figure): number {
  return spreadOf(measurements.map((each) => each[figure])).median
}

/** Returns a Markdown table; all columns but the first are numeric. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = columns.map((_, i) => (i === 0 ? '---' : '--:')).join('|')
  const [head, ...lines] = [columns, ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${[head, `|${rule}|`, ...lines].join('\n')}\n`
}

/** Formats a number with thousands separators; a dash for NaN. */
export function formatInteger(value: number): string {
  return Number.isNaN(value) ? '-' : Math.round(value).toLocaleString('en-US')
}

/** Formats a number with so many decimals; a dash for NaN. */
export function formatDecimal(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits)
}
