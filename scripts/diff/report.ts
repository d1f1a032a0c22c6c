// What changed, in words for people and in JSON for scripts.

import type { Paint } from '../../src/commands/terminal.js'
import type { Bump, Change } from './comparison.js'
import type { Judgement } from './version.js'

/** The changes and the judgement, as one JSON document. */
export function toJson(ref: string, changes: readonly Change[], judgement: Judgement): string {
  const { bump, ...version } = judgement
  const marked = changes.map(({ at, ...change }) => ({ breaking: change.bump === 'major', ...change }))
  return `${JSON.stringify({ ref, version, bump, changes: marked }, null, 2)}\n`
}

/** A line for each change, then what they come to. */
export function toText(ref: string, changes: readonly Change[], judgement: Judgement, paint: Paint): string {
  if (changes.length === 0) {
    const { before, after } = judgement
    return `No changes since ${ref}${before === after ? '' : ` but the version, ${before} -> ${after}`}: no new version is called for.\n`
  }
  return `${[...changes.map((change) => paint(styles[change.bump], lineOf(change))), '', summaryOf(changes, judgement)].join('\n')}\n`
}

/** One change: `breaking  GET /pets  query.limit: maximum 100 -> 50`. */
export function lineOf({ bump, place, where, what }: Change): string {
  const mark = labels[bump].padEnd(labels.major.length)
  return `${mark}  ${place}  ${where === '' ? what : `${where}: ${what}`}`
}

const styles = { major: 'red', minor: 'green', patch: 'dim' } as const
const labels: Record<Bump, string> = { major: 'breaking', minor: 'minor', patch: 'patch' }

/** What the changes come to: `1 breaking, 0 minor, 0 patch: calls for a major version; still 1.0.0 is not enough.` */
export function summaryOf(changes: readonly Change[], judgement: Judgement): string {
  const counts = Object.entries(labels).map(
    ([key, label]) => `${changes.filter((change) => change.bump === key).length} ${label}`,
  )
  const verdict = judgement.isEnough ? 'is enough' : 'is not enough'
  return `${counts.join(', ')}: calls for a ${judgement.bump} version; ${versionOf(judgement)} ${verdict}.`
}

function versionOf({ before, after, isNewPath }: Judgement): string {
  if (isNewPath) return 'the new path of the servers'
  return before === after ? `still ${after}` : `${before} -> ${after}`
}
