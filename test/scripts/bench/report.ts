import t from 'tap'
import { comparisonTables } from '../../../scripts/bench/report.js'
import type { Measurement } from '../../../scripts/bench/runner.js'

const subjects = [
  { name: 'own', title: 'Own' },
  { name: 'other', title: 'Other', goals: { gets: 1.2 } },
]
const loads = [{ name: 'gets', title: 'Gets' }]

function tablesOf(ownRates: readonly number[]): string {
  const rates = [
    ['own', ownRates],
    ['other', ownRates.map(() => 1000)],
  ] as const
  const measurements = rates.flatMap(([subject, each]) =>
    each.map((requestsPerSecond, round) => ({ subject, load: 'gets', round, requestsPerSecond })),
  )
  return comparisonTables({
    measurements: measurements as unknown as Measurement[],
    subjects,
    loads,
  } as never)
}

t.test('a ratio is named only if it is further from 1 than its rounds are apart', async (t) => {
  t.match(tablesOf([1290, 1300, 1310]), '| Other | 1.30 (1.29 to 1.31) |')
  t.match(tablesOf([690, 700, 710]), '| Other | 0.70 (0.69 to 0.71), goal 1.2 |')
  t.match(tablesOf([1150, 1210, 1400]), '| Other | ~1 (1.15 to 1.40) |')
  t.match(tablesOf([900, 1000, 1050]), '| Other | ~1 (0.90 to 1.05), goal 1.2 |')
})
