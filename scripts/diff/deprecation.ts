// Deprecation: `deprecated`, and the dates of an operation.

import { type Comparison, report, type Spot } from './comparison.js'
import { describeChange, type Pair } from './node.js'

/** Reports a change of `deprecated`. */
export function compareDeprecated(comparison: Comparison, spot: Spot, pair: Pair): void {
  const [before, after] = [pair.before.deprecated === true, pair.after.deprecated === true]
  if (before === after) return
  report(comparison, spot, 'minor', after ? 'deprecated' : 'no longer deprecated', pair, 'deprecated')
}

/**
 * Reports changes of an operation's deprecation and its dates. Only an earlier sunset is breaking.
 */
export function compareDeprecation(comparison: Comparison, spot: Spot, operation: Pair): void {
  compareDeprecated(comparison, spot, operation)
  const { before, after } = operation
  if (before['x-deprecated-at'] !== after['x-deprecated-at']) {
    const what = describeChange('deprecation', before['x-deprecated-at'], after['x-deprecated-at'])
    report(comparison, spot, 'minor', what, operation, 'x-deprecated-at')
  }
  const [was, is] = [before['x-sunset'], after['x-sunset']]
  if (was === is) return
  // RFC 3339 dates sort as text.
  const isEarlier = was !== undefined && is !== undefined && String(is) < String(was)
  report(
    comparison,
    spot,
    isEarlier ? 'major' : 'minor',
    describeChange('sunset', was, is),
    operation,
    'x-sunset',
  )
}
