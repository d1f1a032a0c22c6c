// Schemas with their subschemas: properties, items, variants.
//
// Two normalised schemas are compared keyword by keyword, and choices of variants by the sets of values they accept. When in doubt, a change
// is breaking: a false alarm is easily recognised, a missed breaking change is not.

import { type Comparison, claimBoth, report, trialOf } from './comparison.js'
import { compareDeprecated } from './deprecation.js'
import { compareDefault, compareKeywords, type Effect, reportEffect, type SchemaSpot } from './keywords.js'
import { eachKey, eachName, type Node, nodesOf, type Pair } from './node.js'
import { child, isInTrail, same } from './references.js'
import { acceptsAnything, areDisjoint, assertionsOf } from './simplify.js'

/** Reports the changes of a schema. */
export function compareSchemas(comparison: Comparison, at: SchemaSpot, pair: Pair): void {
  const unchanged = comparison.unchanged[at.direction]
  if (pair.before === pair.after || unchanged.get(pair.before)?.has(pair.after)) return
  if (isInTrail(at.trail, pair)) {
    comparison.recursive.push(pair)
    return
  }
  const known = comparison.found.length + comparison.recursive.length
  compareSchema(comparison, { ...at, trail: [...at.trail, pair] }, pair)
  // A pair that was compared completely and without a difference need not be compared again.
  if (comparison.found.length + comparison.recursive.length > known) return
  unchanged.set(pair.before, (unchanged.get(pair.before) ?? new WeakSet()).add(pair.after))
}

function compareSchema(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  if (compareChoice(comparison, spot, pair)) return
  compareKeywords(comparison, spot, pair)
  compareDeprecated(comparison, spot, pair)
  compareProperties(comparison, spot, pair)
  compareSchemas(comparison, { ...spot, where: `${spot.where}[]` }, child(comparison, pair, 'items'))
  compareConditions(comparison, spot, pair, 'patternProperties')
  compareConditions(comparison, spot, pair, 'prefixItems')
  compareConditions(comparison, spot, pair, 'dependentRequired')
  for (const variants of lists) compareVariants(comparison, spot, pair, variants)
}

// Keywords with conditions on some properties or items: an added condition narrows.
function compareConditions(comparison: Comparison, spot: SchemaSpot, pair: Pair, keyword: string): void {
  const conditions = child(comparison, withListsAsMappings(pair, keyword), keyword)
  eachKey(conditions, {
    removed: (name) =>
      reportEffect(comparison, spot, ['widens'], `${keyword} ${name} removed`, pair, keyword),
    added: (name) => reportEffect(comparison, spot, ['narrows'], `${keyword} ${name} added`, pair, keyword),
    kept: (name) => {
      const at = { ...spot, where: `${spot.where}.${name}` }
      if (keyword !== 'dependentRequired')
        return compareSchemas(comparison, at, child(comparison, conditions, name))
      eachName([conditions.before[name]].flat(), [conditions.after[name]].flat(), {
        removed: (field) =>
          reportEffect(comparison, at, ['widens'], `${field} no longer required`, pair, keyword),
        added: (field) => reportEffect(comparison, at, ['narrows'], `${field} required`, pair, keyword),
      })
    },
  })
}

// Turns a list into a mapping by index.
function withListsAsMappings({ before, after }: Pair, keyword: string): Pair {
  const listed = ({ [keyword]: value }: Node) => ({ [keyword]: Array.isArray(value) ? { ...value } : value })
  return { before: listed(before), after: listed(after) }
}

function compareProperties(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const properties = child(comparison, pair, 'properties')
  const at = (name: string) => ({ ...spot, where: `${spot.where}.${name}` })
  const reportRemoved = (name: string, ...reported: readonly [Pair, string]) => {
    // A removed property is still accepted, unless the schema forbids additional properties.
    const isBreaking = spot.direction === 'response' || pair.after.additionalProperties === false
    report(comparison, at(name), isBreaking ? 'major' : 'minor', 'removed', ...reported)
  }
  const reportAdded = (name: string, ...reported: readonly [Pair, string]) => {
    const isRequired = requiredOf(pair.after).includes(name)
    const isBreaking = isRequired && spot.direction === 'request'
    const what = isRequired ? 'added, required' : 'added'
    report(comparison, at(name), isBreaking ? 'major' : 'minor', what, ...reported)
  }
  // Such a property is not part of requests, or of responses (OpenAPI 3.1, section 4.8.24; JSON Schema validation, section 9.4).
  const key = spot.direction === 'request' ? 'readOnly' : 'writeOnly'
  const fieldOf = (name: string) => child(comparison, properties, name)
  eachKey(properties, {
    removed: (name) => {
      if (fieldOf(name).before[key] !== true) reportRemoved(name, properties, name)
    },
    added: (name) => {
      if (fieldOf(name).after[key] !== true) reportAdded(name, properties, name)
    },
    kept: (name) => {
      const field = fieldOf(name)
      const [was, is] = [field.before[key] === true, field.after[key] === true]
      if (was && is) return
      if (is) report(comparison, at(name), 'major', `removed (now ${key})`, field, key)
      else if (was) reportAdded(name, field, key)
      else compareSchemas(comparison, at(name), field)
    },
  })
  compareRequired(comparison, spot, pair, properties)
  compareAdditional(comparison, spot, pair)
}

function compareRequired(comparison: Comparison, spot: SchemaSpot, pair: Pair, properties: Pair): void {
  const reportRequired = (effect: Effect, what: string) => (name: string) => {
    const at = { ...spot, where: `${spot.where}.${name}` }
    // A removed or added property is reported together with `required`.
    const isKept = name in properties.before === name in properties.after
    if (isKept) reportEffect(comparison, at, [effect], what, pair, 'required')
    else claimBoth(comparison, pair, 'required')
  }
  eachName(requiredOf(pair.before), requiredOf(pair.after), {
    removed: reportRequired('widens', 'required -> optional'),
    added: reportRequired('narrows', 'optional -> required'),
  })
}

function requiredOf({ required }: Node): string[] {
  return Array.isArray(required) ? required.map(String) : []
}

// Additional properties. Clients must ignore unknown ones, since properties may be added to a response at any time, so allowing them is not
// breaking.
function compareAdditional(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const key = 'additionalProperties'
  const [before, after] = [pair.before[key] !== false, pair.after[key] !== false]
  if (before && after) {
    compareSchemas(comparison, { ...spot, where: `${spot.where}.*` }, child(comparison, pair, key))
  } else if (before) {
    reportEffect(comparison, spot, ['narrows'], 'unknown fields are rejected', pair, key)
  } else if (after) report(comparison, spot, 'minor', 'unknown fields are allowed', pair, key)
}

interface Variants {
  readonly keyword: string
  readonly onAdded: Effect
  readonly onRemoved: Effect
}

const lists: readonly Variants[] = [
  { keyword: 'allOf', onAdded: 'narrows', onRemoved: 'widens' },
  { keyword: 'anyOf', onAdded: 'widens', onRemoved: 'narrows' },
  { keyword: 'oneOf', onAdded: 'widens', onRemoved: 'narrows' },
]

function compareVariants(comparison: Comparison, spot: SchemaSpot, pair: Pair, variants: Variants): void {
  const { keyword } = variants
  const [was, is] = [nodesOf(pair.before[keyword]), nodesOf(pair.after[keyword])]
  // An added list narrows, whatever its variants.
  if (was.length === 0 && is.length > 0) {
    reportEffect(comparison, spot, ['narrows'], `${keyword} added`, pair, keyword)
  } else if (was.length > 0 && is.length === 0) {
    reportEffect(comparison, spot, ['widens'], `${keyword} removed`, pair, keyword)
  } else compareLists(comparison, spot, pair, variants)
}

function compareLists(comparison: Comparison, spot: SchemaSpot, pair: Pair, variants: Variants): void {
  const { keyword, onAdded, onRemoved } = variants
  const [was, is] = [nodesOf(pair.before[keyword]), nodesOf(pair.after[keyword])]
  const { kept, removed, added } = matched(comparison, was, is)
  const isChoice = keyword !== 'allOf'
  for (const [name, variant] of kept) {
    compareSchemas(comparison, { ...spot, where: `${spot.where}(${name})` }, variant)
  }
  for (const [name, node] of removed) {
    const effects = isChoice && isCovered(comparison, spot, node, is) ? [] : [onRemoved]
    reportEffect(comparison, spot, effects, `${keyword} ${name} removed`, pair, keyword)
  }
  for (const [name, node] of added) {
    const effects = isChoice && isWithin(comparison, spot, node, was) ? [] : [onAdded]
    reportEffect(comparison, spot, effects, `${keyword} ${name} added`, pair, keyword)
  }
}

interface Matches {
  readonly kept: readonly (readonly [name: string, pair: Pair])[]
  readonly removed: readonly (readonly [name: string, node: Node])[]
  readonly added: readonly (readonly [name: string, node: Node])[]
}

// Matches variants by `$ref`, then by equality, then inline ones by order.
function matched(comparison: Comparison, was: readonly Node[], is: readonly Node[]): Matches {
  const kept: [string, Pair][] = []
  const [before, after] = [[...was], [...is]]
  const match = (isMatch: (before: Node, after: Node) => boolean) => {
    for (const node of [...before]) {
      const other = after.find((one) => isMatch(node, one))
      if (other === undefined) continue
      before.splice(before.indexOf(node), 1)
      after.splice(after.indexOf(other), 1)
      kept.push([nameOf(node, was), child(comparison, { before: { node }, after: { node: other } }, 'node')])
    }
  }
  match((node, other) => node.$ref !== undefined && node.$ref === other.$ref)
  match((node, other) => same(comparison, node, other))
  match((node, other) => node.$ref === undefined && other.$ref === undefined)
  return {
    kept,
    removed: before.map((node) => [nameOf(node, was), node]),
    added: after.map((node) => [nameOf(node, is), node]),
  }
}

function nameOf(node: Node, list: readonly Node[]): string {
  return node.$ref === undefined
    ? String(list.indexOf(node) + 1)
    : String(String(node.$ref).split('/').at(-1))
}

// Compares a schema with a choice (`anyOf`, `oneOf`) that replaced it, or the other way round, or one kind of choice with the other.
function compareChoice(comparison: Comparison, spot: SchemaSpot, pair: Pair): boolean {
  const [before, after] = [choiceOf(pair.before), choiceOf(pair.after)]
  if (before?.keyword === after?.keyword) return false
  // Beside other keywords, a choice narrows; `compareVariants` reports it.
  if ([before, after].some((choice) => choice && !choice.isAlone)) return false
  const was = before?.variants ?? [assertionsOf(pair.before)]
  const is = after?.variants ?? [assertionsOf(pair.after)]
  const isMinor =
    spot.direction === 'request'
      ? was.every((node) => isCovered(comparison, spot, node, is)) && !mayOverlap(comparison, after)
      : is.every((node) => isWithin(comparison, spot, node, was))
  compareDefault(comparison, spot, pair)
  compareDeprecated(comparison, spot, pair)
  const what = [before?.keyword, after?.keyword].filter(Boolean).join(' -> ')
  const change = before && after ? what : `${what} ${after ? 'added' : 'removed'}`
  const keys = Object.keys({ ...pair.before, ...pair.after })
  report(comparison, spot, isMinor ? 'minor' : 'major', change, pair, ...keys)
  return true
}

interface Choice {
  readonly keyword: string
  readonly variants: readonly Node[]
  /** Whether the schema has no other constraints. */
  readonly isAlone: boolean
}

function choiceOf(schema: Node): Choice | undefined {
  const keyword = ['anyOf', 'oneOf'].find((keyword) => Array.isArray(schema[keyword]))
  if (keyword === undefined) return undefined
  const { [keyword]: list, discriminator, ...others } = schema
  return { keyword, variants: nodesOf(list), isAlone: acceptsAnything(others) }
}

// `oneOf` rejects a value that two variants accept.
function mayOverlap(comparison: Comparison, choice: Choice | undefined): boolean {
  if (choice?.keyword !== 'oneOf') return false
  const views = choice.variants.map(
    (node) => child(comparison, { before: {}, after: { node } }, 'node').after,
  )
  return !areDisjoint(views)
}

// Whether one of the new schemas accepts everything that the old schema did.
function isCovered(comparison: Comparison, spot: SchemaSpot, before: Node, after: readonly Node[]): boolean {
  return after.some((node) =>
    isCompatible(comparison, { ...spot, direction: 'request' }, { before, after: node }),
  )
}

// Whether one of the old schemas accepted everything that the new schema does.
function isWithin(comparison: Comparison, spot: SchemaSpot, after: Node, before: readonly Node[]): boolean {
  return before.some((node) =>
    isCompatible(comparison, { ...spot, direction: 'response' }, { before: node, after }),
  )
}

function isCompatible(comparison: Comparison, spot: SchemaSpot, { before, after }: Pair): boolean {
  const trial = trialOf(comparison)
  const pair = child(trial, { before: { node: before }, after: { node: after } }, 'node')
  compareSchemas(trial, spot, pair)
  return trial.found.every(({ change }) => change.bump !== 'major')
}
