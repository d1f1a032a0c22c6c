// Compares `deprecated`, and the dates of an operation.

import type { Spot } from './comparison.js'
import type { Node } from './node.js'
import { compareFlag, compareValue } from './rules.js'

/** Reports a change of `deprecated`. */
export function compareDeprecated(spot: Spot): void {
  compareFlag(spot, 'deprecated', ['minor', 'deprecated'], ['minor', 'no longer deprecated'])
}

/**
 * Reports changes of an operation's deprecation and its dates. An earlier sunset is breaking, and so is any
 * change by which the operation has ended already.
 */
export function compareDeprecation(operation: Spot): void {
  const { before, after, comparison } = operation
  const wasGone = isGone(before, comparison.nowMs)
  const bump = !wasGone && isGone(after, comparison.nowMs) ? 'major' : 'minor'
  compareFlag(operation, 'deprecated', [bump, 'deprecated'], ['minor', 'no longer deprecated'])
  compareValue(operation, 'x-deprecated-at', () => 'minor', 'deprecation')
  const bumpOf = (was: unknown, is: unknown) => (isEarlier(is, was) && !wasGone ? 'major' : bump)
  compareValue(operation, 'x-sunset', bumpOf, 'sunset')
  compareValue(operation, 'x-after-sunset', () => bump, 'after the sunset')
}

/** True if an operation responds 410 to every request, because of `x-after-sunset: gone`. */
export function isGone(operation: Node, nowMs: number): boolean {
  const { deprecated, 'x-sunset': sunset, 'x-after-sunset': after } = operation
  return deprecated === true && after === 'gone' && Date.parse(`${sunset}T00:00:00Z`) <= nowMs
}

// Dates of RFC 3339 sort as text.
function isEarlier(date: unknown, other: unknown): boolean {
  return date !== undefined && other !== undefined && String(date) < String(other)
}
