// Rules that several parts of a document share.

import { type Bump, report, type Spot } from './comparison.js'
import { describeChange, eachKey } from './node.js'
import { child, same } from './references.js'

/** The effect of a change on the set of valid values. A change may have both effects. */
export type Effect = 'narrows' | 'widens'

/** Reports a change of the valid values: narrowing is breaking in requests, widening in responses. */
export function reportEffect(
  spot: Spot,
  effects: readonly Effect[],
  what: string,
  ...keys: readonly string[]
): void {
  const breaking = spot.direction === 'request' ? 'narrows' : 'widens'
  report(spot, effects.includes(breaking) ? 'major' : 'minor', what, ...keys)
}

/** True if the service fills in a default when a client omits the value, even if the value is required. */
export function isFilledIn({ direction, after }: Spot): boolean {
  return direction === 'request' && after.default !== undefined
}

/**
 * Reports removed keys as breaking and added keys as minor, and calls `compare` for the values of all others.
 */
export function compareKeys(
  spot: Spot,
  whereOf: (key: string) => string,
  compare: (inside: Spot, key: string) => void,
  prefixOf = (_key: string) => '',
): void {
  const reportKey = (bump: Bump, what: string) => (key: string) =>
    report({ ...spot, where: whereOf(key) }, bump, `${prefixOf(key)}${what}`, key)
  eachKey(spot, {
    removed: reportKey('major', 'removed'),
    added: reportKey('minor', 'added'),
    kept: (key) => compare(child(spot, key, whereOf(key)), key),
  })
}

/** Reports a changed value of a key. */
export function compareValue(
  spot: Spot,
  key: string,
  bumpOf: (before: unknown, after: unknown) => Bump,
  name = key,
): void {
  const [before, after] = [spot.before[key], spot.after[key]]
  if (same(spot.comparison, before, after)) return
  report(spot, bumpOf(before, after), describeChange(name, before, after), key)
}

/** Reports a flag that was set or cleared. */
export function compareFlag(
  spot: Spot,
  key: string,
  onSet: readonly [Bump, string],
  onCleared: readonly [Bump, string],
): void {
  const [before, after] = [spot.before[key] === true, spot.after[key] === true]
  if (before !== after) report(spot, ...(after ? onSet : onCleared), key)
}

/** Reports any difference in the values of the keys as breaking. */
export function compareOpaque(spot: Spot, keys: readonly string[], nameOf = (key: string) => key): void {
  for (const key of keys) {
    if (same(spot.comparison, spot.before[key], spot.after[key])) continue
    report(spot, 'major', `${nameOf(key)} changed`, key)
  }
}
