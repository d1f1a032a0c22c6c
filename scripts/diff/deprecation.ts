// The announcement that something goes: `deprecated`, and the dates of an operation.

import { type Comparison, report, type Spot } from './comparison.js'
import { type Pair, step } from './node.js'

/** Reports an announcement made or taken back. */
export function compareDeprecated(comparison: Comparison, spot: Spot, pair: Pair): void {
  const [before, after] = [pair.before.deprecated === true, pair.after.deprecated === true]
  if (before === after) return
  report(comparison, spot, 'minor', after ? 'deprecated' : 'no longer deprecated', pair, 'deprecated')
}

/**
 * Reports the announcement of an operation's end, and of dates that moved. Breaking is a sunset that comes
 * earlier than was promised; one that is taken back costs nobody anything.
 */
export function compareDeprecation(comparison: Comparison, spot: Spot, operation: Pair): void {
  compareDeprecated(comparison, spot, operation)
  const { before, after } = operation
  if (before['x-deprecated-at'] !== after['x-deprecated-at']) {
    const what = step('deprecation', before['x-deprecated-at'], after['x-deprecated-at'])
    report(comparison, spot, 'minor', what, operation, 'x-deprecated-at')
  }
  const [was, is] = [before['x-sunset'], after['x-sunset']]
  if (was === is) return
  // Dates of RFC 3339: their order is that of their characters.
  const isEarlier = was !== undefined && is !== undefined && String(is) < String(was)
  report(comparison, spot, isEarlier ? 'major' : 'minor', step('sunset', was, is), operation, 'x-sunset')
}
