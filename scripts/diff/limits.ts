// What every request is held to: sizes (`x-limits`) and numbers of requests (`x-rate-limits`); and how long its answer is
// kept (`x-idempotency`).

import { type Comparison, report, type Spot } from './comparison.js'
import { eachKey, type Pair, step } from './node.js'
import { child } from './references.js'

/** Reports limits that became stricter, which breaks callers at the edge, or milder. */
export function compareLimits(comparison: Comparison): void {
  compareNumbers(comparison, { place: 'x-limits', where: '' }, child(comparison, comparison, 'x-limits'))
  compareKeeping(comparison, child(comparison, comparison, 'x-idempotency'))
  const rates = child(comparison, comparison, 'x-rate-limits')
  for (const part of ['anonymous', 'ban']) {
    compareNumbers(comparison, { place: 'x-rate-limits', where: part }, child(comparison, rates, part))
  }
  comparePlans(comparison, child(comparison, rates, 'plans'))
}

function compareKeeping(comparison: Comparison, pair: Pair): void {
  const [before, after] = [pair.before.keepHours, pair.after.keepHours]
  if (before === after) return
  const isShorter = typeof before === 'number' && typeof after === 'number' && after < before
  const spot = { place: 'x-idempotency', where: '' }
  report(comparison, spot, isShorter ? 'major' : 'minor', step('keepHours', before, after), pair, 'keepHours')
}

// A ban comes sooner when its rejections are counted over a longer time.
const stricterWhenHigher = new Set(['withinSeconds', 'banSeconds'])

function compareNumbers(comparison: Comparison, spot: Spot, pair: Pair): void {
  for (const name of Object.keys({ ...pair.before, ...pair.after })) {
    const [before, after] = [pair.before[name], pair.after[name]]
    if (before === after) continue
    const isStricter = stricterWhenHigher.has(name)
      ? strictness(before) < strictness(after)
      : strictness(before, Number.POSITIVE_INFINITY) > strictness(after, Number.POSITIVE_INFINITY)
    report(comparison, spot, isStricter ? 'major' : 'minor', step(name, before, after), pair, name)
  }
}

function strictness(value: unknown, absent = 0): number {
  return typeof value === 'number' ? value : absent
}

function comparePlans(comparison: Comparison, plans: Pair): void {
  const spotOf = (name: string) => ({ place: 'x-rate-limits', where: `plans.${name}` })
  eachKey(plans, {
    removed: (name) => report(comparison, spotOf(name), 'major', 'plan removed', plans, name),
    added: (name) => report(comparison, spotOf(name), 'minor', 'plan added', plans, name),
    kept: (name) => comparePlan(comparison, spotOf(name), plans, name),
  })
}

function comparePlan(comparison: Comparison, spot: Spot, plans: Pair, name: string): void {
  const [before, after] = [plans.before[name], plans.after[name]]
  if (typeof before === typeof after) compareNumbers(comparison, spot, child(comparison, plans, name))
  // Quotas agreed per key may lie on either side of a number, so a step to or from them is taken as lowering.
  else report(comparison, spot, 'major', step('quotas', before, after), plans, name)
}
