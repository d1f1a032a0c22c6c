// Limits: sizes (`x-limits`), quotas (`x-rate-limits`), and how long responses to idempotent requests are stored (`x-idempotency`).

import { type Comparison, compareKeys, report, type Spot } from './comparison.js'
import { describeChange, type Pair } from './node.js'
import { child } from './references.js'

/** Reports changed limits. A stricter one is breaking, since it affects clients near the limit. */
export function compareLimits(comparison: Comparison): void {
  compareNumbers(comparison, { place: 'x-limits', where: '' }, child(comparison, comparison, 'x-limits'))
  compareRetention(comparison, child(comparison, comparison, 'x-idempotency'))
  const rates = child(comparison, comparison, 'x-rate-limits')
  for (const part of ['anonymous', 'ban']) {
    compareNumbers(comparison, { place: 'x-rate-limits', where: part }, child(comparison, rates, part))
  }
  comparePlans(comparison, child(comparison, rates, 'plans'))
}

function compareRetention(comparison: Comparison, pair: Pair): void {
  const key = 'keepHours'
  const [before, after] = [pair.before[key], pair.after[key]]
  if (before === after) return
  const isShorter = typeof before === 'number' && typeof after === 'number' && after < before
  const spot = { place: 'x-idempotency', where: '' }
  report(comparison, spot, isShorter ? 'major' : 'minor', describeChange(key, before, after), pair, key)
}

// Counting rejections over a longer time makes a ban more likely.
const stricterWhenHigher = new Set(['withinSeconds', 'banSeconds'])

function compareNumbers(comparison: Comparison, spot: Spot, pair: Pair): void {
  for (const name of Object.keys({ ...pair.before, ...pair.after })) {
    const [before, after] = [pair.before[name], pair.after[name]]
    if (before === after) continue
    const isStricter = stricterWhenHigher.has(name)
      ? numberOr(before, 0) < numberOr(after, 0)
      : numberOr(before, Number.POSITIVE_INFINITY) > numberOr(after, Number.POSITIVE_INFINITY)
    report(comparison, spot, isStricter ? 'major' : 'minor', describeChange(name, before, after), pair, name)
  }
}

function numberOr(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent
}

function comparePlans(comparison: Comparison, plans: Pair): void {
  const at = (name: string) => ({ place: 'x-rate-limits', where: `plans.${name}` })
  const compare = (name: string) => comparePlan(comparison, at(name), plans, name)
  compareKeys(comparison, plans, at, compare, () => 'plan ')
}

function comparePlan(comparison: Comparison, spot: Spot, plans: Pair, name: string): void {
  const [before, after] = [plans.before[name], plans.after[name]]
  if (typeof before === typeof after) compareNumbers(comparison, spot, child(comparison, plans, name))
  // A custom quota may be higher or lower than a fixed one, so a change between them counts as stricter.
  else report(comparison, spot, 'major', describeChange('quotas', before, after), plans, name)
}
