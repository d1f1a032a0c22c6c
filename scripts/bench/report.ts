// The tables of a comparison, in Markdown, and what became of the goals.

import { pgbench, type Turn } from './comparison.js'
import { operations } from './operations.js'
import { type Spread, spreadOf } from './statistics.js'

/** A goal: the least that the median of the ratios to a baseline is to be, by operation. */
export interface Goal {
  readonly baseline: string
  readonly atLeast: Readonly<Record<string, number>>
}

/** Names and titles, in the order of the tables. */
export type Titles = readonly { readonly name: string; readonly title: string }[]

/** The ratios of one subject's rate to another's, round by round. */
export function ratios(
  turns: readonly Turn[],
  subject: string,
  baseline: string,
  operation: string,
): Spread | undefined {
  const rates = (name: string) =>
    new Map(
      turns
        .filter((turn) => turn.subject === name && turn.operation === operation)
        .map(({ round, requestsPerSecond }) => [round, requestsPerSecond]),
    )
  const [own, others] = [rates(subject), rates(baseline)]
  const values = [...own].flatMap(([round, rate]) => {
    const other = others.get(round)
    return other === undefined ? [] : [rate / other]
  })
  return values.length === 0 ? undefined : spreadOf(values)
}

/** One line for each goal and operation: the ratio, and whether it holds. */
export function goalLines(
  turns: readonly Turn[],
  subject: string,
  goals: readonly Goal[],
  titles: Titles,
): string[] {
  return goals.flatMap(({ baseline, atLeast }) =>
    operations.flatMap(({ name, title }) => {
      const spread = ratios(turns, subject, baseline, name)
      const goal = atLeast[name]
      if (spread === undefined || goal === undefined) return []
      const verdict = spread.median >= goal ? 'holds' : 'does not hold'
      return [
        `| ${titleOf(titles, baseline)} | ${title} | ${ratioText(spread)} | ${goal.toFixed(1)} | ${verdict} |`,
      ]
    }),
  )
}

/** The tables: each subject at each operation; the ratios of the first subject to the others; the goals. */
export function comparisonTables(turns: readonly Turn[], titles: Titles, goals: readonly Goal[]): string {
  const [subject] = titles
  return [
    ...operations.map(({ name, title }) => `### ${title}\n\n${operationTable(turns, titles, name)}\n`),
    `### Ratios\n\n${subject?.title}, to each of the others: median of the rounds (minimum to maximum).\n`,
    ratioTable(turns, titles),
    '',
    '### Goals',
    '',
    '| to | operation | median (minimum to maximum) | goal | |',
    '|---|---|---|---|---|',
    ...goalLines(turns, subject?.name ?? '', goals, titles),
    '',
  ].join('\n')
}

function operationTable(turns: readonly Turn[], titles: Titles, operation: string): string {
  const lines = titles.flatMap(({ name, title }) => {
    const own = turns.filter((turn) => turn.subject === name && turn.operation === operation)
    if (own.length === 0) return []
    const median = (of: (turn: Turn) => number) => spreadOf(own.map(of)).median
    const cells = [
      whole(median((turn) => turn.requestsPerSecond)),
      decimal(
        median((turn) => turn.p50),
        1,
      ),
      decimal(
        median((turn) => turn.p99),
        1,
      ),
      decimal(
        median((turn) => turn.cpu),
        3,
      ),
      // Nothing of it asks the database.
      name === 'node-http'
        ? '-'
        : decimal(
            median((turn) => turn.databaseCpu),
            3,
          ),
    ]
    return [`| ${title} | ${cells.join(' | ')} |`]
  })
  return [
    '| | requests/s | p50 ms | p99 ms | CPU s per 1,000, process | CPU s per 1,000, database |',
    '|---|--:|--:|--:|--:|--:|',
    ...lines,
  ].join('\n')
}

function ratioTable(turns: readonly Turn[], [subject, ...others]: Titles): string {
  const lines = others.map(({ name, title }) => {
    const cells = operations.map((operation) => ratios(turns, subject?.name ?? '', name, operation.name))
    return `| ${title} | ${cells.map((each) => (each ? ratioText(each) : '-')).join(' | ')} |`
  })
  return [
    `| to | ${operations.map(({ title }) => title).join(' | ')} |`,
    `|---|${operations.map(() => '--:').join('|')}|`,
    ...lines,
  ].join('\n')
}

function ratioText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`
}

/** All that may be in the tables: pgbench takes turns too. */
export function titlesOf(subjects: Titles): Titles {
  return [...subjects, pgbench]
}

function titleOf(titles: Titles, name: string): string {
  return titles.find((each) => each.name === name)?.title ?? name
}

/** A number with thousands apart; a dash where nothing was measured. */
export function whole(value: number): string {
  return Number.isNaN(value) ? '-' : Math.round(value).toLocaleString('en-US')
}

/** A number with so many decimals; a dash where nothing was measured. */
export function decimal(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits)
}
