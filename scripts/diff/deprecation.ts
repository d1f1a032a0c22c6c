// Deprecation: `deprecated`, and the dates of an operation.

import type { Spot } from './comparison.js'
import { compareFlag, compareValue } from './rules.js'

/** Reports a change of `deprecated`. */
export function compareDeprecated(spot: Spot): void {
  compareFlag(spot, 'deprecated', ['minor', 'deprecated'], ['minor', 'no longer deprecated'])
}

/**
 * Reports changes of an operation's deprecation and its dates. Only an earlier sunset is breaking.
 */
export function compareDeprecation(operation: Spot): void {
  compareDeprecated(operation)
  compareValue(operation, 'x-deprecated-at', () => 'minor', 'deprecation')
  compareValue(operation, 'x-sunset', (was, is) => (isEarlier(is, was) ? 'major' : 'minor'), 'sunset')
  compareValue(operation, 'x-after-sunset', () => 'minor', 'after the sunset')
}

// RFC 3339 dates sort as text.
function isEarlier(date: unknown, other: unknown): boolean {
  return date !== undefined && other !== undefined && String(date) < String(other)
}
