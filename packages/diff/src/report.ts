// The report: text for people, JSON for scripts.

import type { Paint } from 'contract-engine/lib/terminal'
import type { Bump, Change } from './comparison.js'
import type { VersionCheck } from './version.js'

/** Returns the changes and the version check as a JSON document. */
export function toJson(ref: string, changes: readonly Change[], version: VersionCheck): string {
  const { bump, ...versions } = version
  const marked = changes.map(({ at, ...change }) => ({ breaking: change.bump === 'major', ...change }))
  return `${JSON.stringify({ ref, version: versions, bump, changes: marked }, null, 2)}\n`
}

/** Returns a line for each change, then a summary. */
export function toText(ref: string, changes: readonly Change[], version: VersionCheck, paint: Paint): string {
  if (changes.length === 0) {
    const { before, after } = version
    const versions = before === after ? '' : ` except the version, ${before} -> ${after}`
    return `No changes since ${ref}${versions}: no new version is required.\n`
  }
  const lines = changes.map((change) => paint(styles[change.bump], lineOf(change)))
  return `${[...lines, '', summaryOf(changes, version)].join('\n')}\n`
}

/** Returns the line of a change: `breaking GET /pets query.limit: maximum 100 -> 50`. */
export function lineOf({ bump, place, where, what }: Change): string {
  const label = labels[bump].padEnd(labels.major.length)
  return `${label}  ${place}  ${where === '' ? what : `${where}: ${what}`}`
}

const styles = { major: 'red', minor: 'green', patch: 'dim' } as const
const labels: Record<Bump, string> = { major: 'breaking', minor: 'minor', patch: 'patch' }

/**
 * Returns a summary: `1 breaking, 0 minor, 0 patch: requires a major version; 1.0.0 (unchanged) is not
 * enough.`
 */
export function summaryOf(changes: readonly Change[], version: VersionCheck): string {
  const counts = Object.entries(labels).map(
    ([key, label]) => `${changes.filter((change) => change.bump === key).length} ${label}`,
  )
  const verdict = version.isEnough ? 'is enough' : 'is not enough'
  return `${counts.join(', ')}: requires a ${version.bump} version; ${versionOf(version)} ${verdict}.`
}

function versionOf({ before, after, isNewPath }: VersionCheck): string {
  if (isNewPath) return 'the new server path'
  return before === after ? `${after} (unchanged)` : `${before} -> ${after}`
}
