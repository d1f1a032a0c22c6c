// The content of requests and responses: media types, each with its schema.

import { type Comparison, report, type Spot } from './comparison.js'
import type { Direction } from './keywords.js'
import { eachKey, type Pair } from './node.js'
import { child, same } from './references.js'
import { compareSchemas } from './schemas.js'

/** Reports changes of media types and their schemas. */
export function compareContent(
  comparison: Comparison,
  spot: Spot,
  direction: Direction,
  content: Pair,
): void {
  const [before, after] = [Object.keys(content.before), Object.keys(content.after)]
  eachKey(content, {
    removed: (type) => {
      const range = direction === 'request' ? rangeOf(type, after) : undefined
      const isNarrowed = direction === 'response' && after.some((other) => rangeOf(other, [type]) === type)
      if (range !== undefined) compareMedia(comparison, spot, direction, content, [type, range])
      else
        report(comparison, spot, isNarrowed ? 'minor' : 'major', `media type ${type} removed`, content, type)
    },
    added: (type) => {
      const range = direction === 'response' ? rangeOf(type, before) : undefined
      if (range !== undefined) compareMedia(comparison, spot, direction, content, [range, type])
      else report(comparison, spot, 'minor', `media type ${type} added`, content, type)
    },
    kept: (type) => compareMedia(comparison, spot, direction, content, [type, type]),
  })
}

// The media range (RFC 9110, section 12.5.1) among `types` that includes the type.
function rangeOf(type: string, types: readonly string[]): string | undefined {
  return [`${type.split('/', 1)[0]}/*`, '*/*'].find((range) => types.includes(range))
}

function compareMedia(
  comparison: Comparison,
  spot: Spot,
  direction: Direction,
  content: Pair,
  [was, is]: readonly [string, string],
): void {
  const media = between(comparison, content, was, is)
  compareSchemas(comparison, { ...spot, direction, trail: [] }, child(comparison, media, 'schema'))
  const key = 'encoding'
  if (!same(comparison, media.before[key], media.after[key])) {
    report(comparison, spot, 'major', `encoding of ${is} changed`, media, key)
  }
  if (was !== is) report(comparison, spot, 'minor', `media type ${was} -> ${is}`, content, is, was)
}

/** The pair of the value under one key before and under another key after. */
export function between(comparison: Comparison, { before, after }: Pair, was: string, is: string): Pair {
  return child(comparison, { before: { value: before[was] }, after: { value: after[is] } }, 'value')
}
