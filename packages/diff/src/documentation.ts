// Reports differences that no rule has claimed: descriptions, examples, extensions. It looks for them at
// operations and the parts that these refer to, as clients do, so a part that only moved within the document
// has not changed. Each is reported once, at its place, however many operations refer to it.

import { isDeepStrictEqual } from 'node:util'
import { methodFields, schemaKeywords } from 'contract-engine/tools'
import { type Comparison, isClaimed, type Path, pathOf, report, type Spot, wholeNode } from './comparison.js'
import { describeChange, eachEntry, isNode, type Node, nodesOf } from './node.js'
import type { OperationPairs } from './operation-pairs.js'
import { parametersOf } from './operations.js'
import { child, inside } from './references.js'
import { matched } from './schemas.js'
import { schemePairs } from './security.js'
import { documentationKeywords } from './simplify.js'

// Keys that other code compares, that are compared further below, or that only concern notation.
const ofDocument = ['openapi', 'jsonSchemaDialect', 'paths', 'components', 'security', 'servers']
const ofItem = [...methodFields, 'additionalOperations', 'parameters', 'servers']
const ofOperation = ['parameters', 'security', 'servers']
const ofSchema = ['$defs', 'definitions']

/** Reports all unclaimed differences as changes of the documentation. */
export function compareDocumentation(root: Spot, { kept }: OperationPairs): void {
  const walk = new Walk(root)
  walk.compare(root, ofDocument)
  for (const scheme of schemePairs(root).values()) walk.compare(scheme)
  for (const pair of kept) {
    const { was, is } = pair
    walk.compare({ ...root, before: was.item, after: is.item }, ofItem)
    walk.compare({ ...root, before: was.node, after: is.node }, ofOperation)
    const { before, after } = parametersOf(root, pair)
    eachEntry(before, after, {
      removed: () => {},
      added: () => {},
      kept: (was, is) => walk.compare({ ...root, before: was, after: is }),
    })
  }
}

class Walk {
  readonly #compared = new WeakMap<Node, WeakSet<Node>>()
  /** The second document after its decisions, from which lists get their labels. */
  readonly #document: unknown

  constructor({ comparison, after }: Spot) {
    this.#document = comparison.origins.get(after)
  }

  /** Compares two mappings and all that they contain or refer to, except for some keys. */
  compare(spot: Spot, without: readonly string[] = []): void {
    const { before, after } = spot
    const known = this.#compared.get(before) ?? new WeakSet()
    if (known.has(after)) return
    this.#compared.set(before, known.add(after))
    for (const key of Object.keys({ ...before, ...after })) {
      if (!without.includes(key) && !isClaimed(spot, key)) this.#compareKey(spot, key)
    }
    this.#compareSources(spot)
  }

  #compareKey(spot: Spot, key: string): void {
    const [before, after] = [spot.before[key], spot.after[key]]
    if ([before, after].some((value) => isReported(spot.comparison, value))) return
    if (isNode(before) && isNode(after)) this.compare(child(spot, key), isMap(key) ? [] : ofSchema)
    else if (Array.isArray(before) && Array.isArray(after)) this.#compareLists(spot, key, before, after)
    else if (!isDeepStrictEqual(before, after)) this.#report(spot, key)
  }

  #compareLists(spot: Spot, key: string, before: readonly unknown[], after: readonly unknown[]): void {
    if (schemaKeywords.has(key)) {
      const { kept } = matched(spot, nodesOf(before), nodesOf(after))
      for (const pair of kept) this.compare(pair, ofSchema)
      return
    }
    const [was, is] = [byName(before), byName(after)]
    if (was && is) this.compare(inside(spot, was, is))
    else if (!isDeepStrictEqual(before, after)) this.#report(spot, key)
  }

  // Compares the documentation of schemas that were merged into others.
  #compareSources({ comparison, ...spot }: Spot): void {
    const [before = [], after = []] = [
      comparison.sources.get(spot.before),
      comparison.sources.get(spot.after),
    ]
    if (before.length !== after.length) return
    before.forEach((was, i) => {
      const pair = inside({ ...spot, comparison }, was, after[i])
      for (const key of documentationKeywords) if (!isClaimed(pair, key)) this.#compareKey(pair, key)
    })
  }

  // Claims the key, too, because it may have been merged into several schemas.
  #report(spot: Spot, key: string): void {
    const { comparison, before, after } = spot
    const at = pathOf(comparison, after, key) ?? pathOf(comparison, before, key) ?? []
    const parent = at.at(-1) === key ? at.slice(0, -1) : at
    const place = placeOf(labelled(this.#document, parent))
    const what = changeText(key, before[key], after[key])
    if ([...parent, key].join('.') !== 'info.version') report({ ...spot, ...place, at }, 'patch', what, key)
  }
}

// True if the keys of a keyword's value are names.
function isMap(key: string): boolean {
  return schemaKeywords.get(key)?.holds === 'map'
}

// True if a mapping, or the mapping that it refers to, is claimed as a whole or by all of its keys.
function isReported({ claims, views }: Comparison, value: unknown): boolean {
  if (!isNode(value)) return false
  if (claims.get(views.get(value) ?? value)?.has(wholeNode)) return true
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => claims.get(value)?.has(key))
}

// Returns items with names, such as tags, by name, so that an inserted item does not change the others.
function byName(list: readonly unknown[]): Node | undefined {
  if (!list.every(isNode)) return undefined
  const names = list.map((item) => labelOf(item))
  const isUnique = new Set(names).size === names.length && !names.includes(undefined)
  return isUnique ? Object.fromEntries(list.map((item, i) => [names[i], item])) : undefined
}

function labelOf({ in: place, name, url, $ref }: Node): string | undefined {
  const label = name ?? url ?? $ref
  if (typeof label !== 'string') return undefined
  return typeof place === 'string' ? `${place}.${label}` : label
}

// Returns a path with the names of items instead of their indices.
function labelled(document: unknown, path: Path): Path {
  let value = document
  return path.map((key) => {
    const isList = Array.isArray(value)
    value = typeof value === 'object' && value !== null ? (value as Node)[key] : undefined
    return (isList && isNode(value) && labelOf(value)) || key
  })
}

// Locates operations by method and path.
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
