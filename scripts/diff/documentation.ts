// Differences that no rule claimed: descriptions, examples, extensions. Each is reported once, at its place
// in the document, however many operations refer to it.

import { isDeepStrictEqual } from 'node:util'
import { type Comparison, isClaimed, type Path, report, type Spot, wholeNode } from './comparison.js'
import { describeChange, isNode, type Node, type Pair } from './node.js'

/** Reports all unclaimed differences as changes of the documentation. */
export function compareDocumentation(spot: Spot, path: Path = []): void {
  for (const key of Object.keys({ ...spot.before, ...spot.after })) {
    if (!isClaimed(spot, key)) compareUnclaimed(spot, path, key)
  }
}

function compareUnclaimed(spot: Spot, parent: Path, key: string): void {
  const [before, after, at] = [spot.before[key], spot.after[key], [...parent, key]]
  // The version is checked separately.
  if (isDeepStrictEqual(before, after) || at.join('.') === 'info.version') return
  if ([before, after].some((value) => isReported(spot.comparison, value))) return
  const pair = pairOf(before, after)
  if (pair && pair.before.$ref === pair.after.$ref) compareDocumentation({ ...spot, ...pair }, at)
  // Claimed, since it may have been merged into several schemas.
  else report({ ...spot, ...placeOf(parent), at }, 'patch', changeText(key, before, after), key)
}

// Whether a mapping, or the one it refers to, is claimed as a whole or by all of its keys.
function isReported({ claims, views }: Comparison, value: unknown): boolean {
  if (!isNode(value)) return false
  if (claims.get(views.get(value) ?? value)?.has(wholeNode)) return true
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => claims.get(value)?.has(key))
}

// Items with names, such as parameters, are compared by name: an inserted one does not change the others.
function pairOf(before: unknown, after: unknown): Pair | undefined {
  if (isNode(before) && isNode(after)) return { before, after }
  const [was, is] = [byName(before), byName(after)]
  return was && is && { before: was, after: is }
}

function byName(list: unknown): Node | undefined {
  if (!Array.isArray(list) || !list.every(isNode)) return undefined
  const names = list.map((item) => labelOf(item))
  const isUnique = new Set(names).size === names.length && !names.includes(undefined)
  return isUnique ? Object.fromEntries(list.map((item, i) => [names[i], item])) : undefined
}

function labelOf({ in: place, name, url, $ref }: Node): string | undefined {
  const label = name ?? url ?? $ref
  if (typeof label !== 'string') return undefined
  return typeof place === 'string' ? `${place}.${label}` : label
}

// Operations are located by method and path.
function placeOf([part = '', second, third, ...rest]: Path): Pick<Spot, 'place' | 'where'> {
  if (part !== 'paths' || second === undefined) {
    return { place: part, where: [second, third, ...rest].filter(Boolean).join('.') }
  }
  return { place: third ? `${third.toUpperCase()} ${second}` : second, where: rest.join('.') }
}

// Shows values only if they fit on the line.
function changeText(key: string, before: unknown, after: unknown): string {
  if ([before, after].every(isShort)) return describeChange(key, before, after)
  if (before === undefined) return `${key} added`
  return `${key} ${after === undefined ? 'removed' : 'changed'}`
}

function isShort(value: unknown): boolean {
  return typeof value !== 'object' && !/^.{40}|\n/.test(String(value))
}
