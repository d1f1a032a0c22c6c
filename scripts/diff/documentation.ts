// Everything that differs and that no rule spoke for: words, examples, extensions. It is reported where it is
// written, once, however many operations refer to it.

import { isDeepStrictEqual } from 'node:util'
import { type Comparison, isClaimed, report, type Spot, whole } from './comparison.js'
import { isNode, type Node, type Pair, step } from './node.js'

/** Reports what is left over, as changes of the documentation. */
export function compareDocumentation(comparison: Comparison): void {
  compareNodes(comparison, [], comparison)
}

function compareNodes(comparison: Comparison, path: readonly string[], pair: Pair): void {
  for (const key of Object.keys({ ...pair.before, ...pair.after })) {
    if (!isClaimed(comparison, pair, key)) {
      compareValues(comparison, [...path, key], pair.before[key], pair.after[key], pair)
    }
  }
}

function compareValues(
  comparison: Comparison,
  path: readonly string[],
  before: unknown,
  after: unknown,
  parent: Pair,
): void {
  // The version is what the changes are held against, not one of them.
  if (isDeepStrictEqual(before, after) || path.join('.') === 'info.version') return
  if (isReported(comparison, before) || isReported(comparison, after)) return
  const pair = pairOf(before, after)
  if (pair && pair.before.$ref === pair.after.$ref) compareNodes(comparison, path, pair)
  else reportDifference(comparison, path, before, after, parent)
}

// Whether rules spoke for all of a mapping, or of what it refers to.
function isReported({ claims, views }: Comparison, value: unknown): boolean {
  if (!isNode(value)) return false
  if (claims.get(views.get(value) ?? value)?.has(whole)) return true
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => claims.get(value)?.has(key))
}

// Lists of things with names, such as parameters, are compared by those, so that one more does not shift the rest.
function pairOf(before: unknown, after: unknown): Pair | undefined {
  if (isNode(before) && isNode(after)) return { before, after }
  const [was, is] = [byName(before), byName(after)]
  return was && is && { before: was, after: is }
}

function byName(list: unknown): Node | undefined {
  if (!Array.isArray(list) || !list.every(isNode)) return undefined
  const names = list.map((item) => labelOf(item))
  const isClear = new Set(names).size === names.length && !names.includes(undefined)
  return isClear ? Object.fromEntries(list.map((item, i) => [names[i], item])) : undefined
}

function labelOf({ in: place, name, url, $ref }: Node): string | undefined {
  const label = name ?? url ?? $ref
  if (typeof label !== 'string') return undefined
  return typeof place === 'string' ? `${place}.${label}` : label
}

function reportDifference(
  comparison: Comparison,
  path: readonly string[],
  before: unknown,
  after: unknown,
  parent: Pair,
): void {
  const key = path.at(-1) ?? ''
  const spot = { ...spotOf(path.slice(0, -1)), at: path }
  // Claimed, for it may have become part of several schemas.
  report(comparison, spot, 'patch', inWords(key, before, after), parent, key)
}

// An operation as people call it, by method and path.
function spotOf([part = '', second, third, ...rest]: readonly string[]): Spot {
  if (part !== 'paths' || second === undefined) {
    return { place: part, where: [second, third, ...rest].filter(Boolean).join('.') }
  }
  return { place: third ? `${third.toUpperCase()} ${second}` : second, where: rest.join('.') }
}

// A value only where it fits on the line.
function inWords(key: string, before: unknown, after: unknown): string {
  if ([before, after].every(isShort)) return step(key, before, after)
  if (before === undefined) return `${key} added`
  return `${key} ${after === undefined ? 'removed' : 'changed'}`
}

function isShort(value: unknown): boolean {
  return typeof value !== 'object' && !/^.{40}|\n/.test(String(value))
}
