// Schemas, down to those inside of them: fields, items, variants.
//
// Two schemas are compared keyword by keyword, after both are written alike; a choice of variants is compared as the set of
// values it accepts. In doubt a change is breaking: a person sees at once that it is not, but nobody sees one that was
// passed over.

import { asideOf, type Comparison, claimBoth, report } from './comparison.js'
import { compareDeprecated } from './deprecation.js'
import { compareDefault, compareKeywords, type Effect, reportEffect, type SchemaSpot } from './keywords.js'
import { eachKey, eachName, type Node, nodesOf, type Pair } from './node.js'
import { child, isOn, same } from './references.js'
import { areDisjoint, assertionsOf, isPlain } from './simplify.js'

/** Reports a schema's changes. */
export function compareSchemas(comparison: Comparison, at: SchemaSpot, pair: Pair): void {
  const alike = comparison.alike[at.direction]
  if (pair.before === pair.after || alike.get(pair.before)?.has(pair.after)) return
  if (isOn(at.trail, pair)) {
    comparison.cut.push(pair)
    return
  }
  const known = comparison.found.length + comparison.cut.length
  compareInside(comparison, { ...at, trail: [...at.trail, pair] }, pair)
  // What was seen to its end without a difference need not be seen again from elsewhere.
  if (comparison.found.length + comparison.cut.length > known) return
  alike.set(pair.before, (alike.get(pair.before) ?? new WeakSet()).add(pair.after))
}

function compareInside(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  if (compareChoice(comparison, spot, pair)) return
  compareKeywords(comparison, spot, pair)
  compareDeprecated(comparison, spot, pair)
  compareProperties(comparison, spot, pair)
  compareSchemas(comparison, { ...spot, where: `${spot.where}[]` }, child(comparison, pair, 'items'))
  comparePlaces(comparison, spot, pair, 'patternProperties')
  comparePlaces(comparison, spot, pair, 'prefixItems')
  comparePlaces(comparison, spot, pair, 'dependentRequired')
  for (const variants of lists) compareVariants(comparison, spot, pair, variants)
}

// What holds for some fields or items: more of it accepts less.
function comparePlaces(comparison: Comparison, spot: SchemaSpot, pair: Pair, keyword: string): void {
  const places = child(comparison, mapped(pair, keyword), keyword)
  eachKey(places, {
    removed: (name) =>
      reportEffect(comparison, spot, ['widens'], `${keyword} ${name} removed`, pair, keyword),
    added: (name) => reportEffect(comparison, spot, ['narrows'], `${keyword} ${name} added`, pair, keyword),
    kept: (name) => {
      const at = { ...spot, where: `${spot.where}.${name}` }
      if (keyword !== 'dependentRequired')
        return compareSchemas(comparison, at, child(comparison, places, name))
      eachName([places.before[name]].flat(), [places.after[name]].flat(), {
        removed: (field) =>
          reportEffect(comparison, at, ['widens'], `${field} no longer needed`, pair, keyword),
        added: (field) => reportEffect(comparison, at, ['narrows'], `${field} needed`, pair, keyword),
      })
    },
  })
}

// A list as a mapping, by index.
function mapped({ before, after }: Pair, keyword: string): Pair {
  const listed = ({ [keyword]: value }: Node) => ({ [keyword]: Array.isArray(value) ? { ...value } : value })
  return { before: listed(before), after: listed(after) }
}

function compareProperties(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const properties = child(comparison, pair, 'properties')
  const at = (name: string) => ({ ...spot, where: `${spot.where}.${name}` })
  const reportRemoved = (name: string, ...reported: readonly [Pair, string]) => {
    // A field that is no longer named is still taken, unless the schema refuses what it does not name.
    const isBreaking = spot.direction === 'response' || pair.after.additionalProperties === false
    report(comparison, at(name), isBreaking ? 'major' : 'minor', 'removed', ...reported)
  }
  const reportAdded = (name: string, ...reported: readonly [Pair, string]) => {
    const isRequired = requiredOf(pair.after).includes(name)
    const isBreaking = isRequired && spot.direction === 'request'
    const what = isRequired ? 'added, required' : 'added'
    report(comparison, at(name), isBreaking ? 'major' : 'minor', what, ...reported)
  }
  // Not sent, or not returned (OpenAPI 3.1, section 4.8.24; JSON Schema validation, section 9.4).
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
      if (is) report(comparison, at(name), 'major', `${key}, so no longer part of it`, field, key)
      else if (was) reportAdded(name, field, key)
      else compareSchemas(comparison, at(name), field)
    },
  })
  compareRequired(comparison, spot, pair, properties)
  compareUnnamed(comparison, spot, pair)
}

function compareRequired(comparison: Comparison, spot: SchemaSpot, pair: Pair, properties: Pair): void {
  const reportRequired = (effect: Effect, what: string) => (name: string) => {
    const at = { ...spot, where: `${spot.where}.${name}` }
    // A field that came or went was reported with what it is.
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

// Fields that a schema does not name. Callers are to ignore those they do not know, as fields may be added to a
// response at any time: so to allow them breaks nobody.
function compareUnnamed(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const key = 'additionalProperties'
  const [before, after] = [pair.before[key] !== false, pair.after[key] !== false]
  if (before && after) {
    compareSchemas(comparison, { ...spot, where: `${spot.where}.*` }, child(comparison, pair, key))
  } else if (before) {
    reportEffect(comparison, spot, ['narrows'], 'unknown fields are refused', pair, key)
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
  // The list itself narrows, whatever is in it.
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

// By the names they are referred to by, then by what they say, then by their order.
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

// A schema in whose place a choice has come, or the other way round.
function compareChoice(comparison: Comparison, spot: SchemaSpot, pair: Pair): boolean {
  const [before, after] = [choiceOf(pair.before), choiceOf(pair.after)]
  if (before?.keyword === after?.keyword) return false
  // Beside other keywords it makes the schema narrower, as `compareVariants` says.
  if ([before, after].some((choice) => choice && !choice.isAlone)) return false
  const was = before?.variants ?? [assertionsOf(pair.before)]
  const is = after?.variants ?? [assertionsOf(pair.after)]
  const isMild =
    spot.direction === 'request'
      ? was.every((node) => isCovered(comparison, spot, node, is)) && !mayOverlap(comparison, after)
      : is.every((node) => isWithin(comparison, spot, node, was))
  compareDefault(comparison, spot, pair)
  compareDeprecated(comparison, spot, pair)
  const what = [before?.keyword, after?.keyword].filter(Boolean).join(' -> ')
  const step = before && after ? what : `${what} ${after ? 'added' : 'removed'}`
  report(
    comparison,
    spot,
    isMild ? 'minor' : 'major',
    step,
    pair,
    ...Object.keys({ ...pair.before, ...pair.after }),
  )
  return true
}

interface Choice {
  readonly keyword: string
  readonly variants: readonly Node[]
  /** Whether the schema says nothing else of its values. */
  readonly isAlone: boolean
}

function choiceOf(schema: Node): Choice | undefined {
  const keyword = ['anyOf', 'oneOf'].find((keyword) => Array.isArray(schema[keyword]))
  if (keyword === undefined) return undefined
  const { [keyword]: list, discriminator, ...others } = schema
  return { keyword, variants: nodesOf(list), isAlone: isPlain(others) }
}

// Of `oneOf`, a value that two variants accept is refused.
function mayOverlap(comparison: Comparison, choice: Choice | undefined): boolean {
  if (choice?.keyword !== 'oneOf') return false
  const views = choice.variants.map(
    (node) => child(comparison, { before: {}, after: { node } }, 'node').after,
  )
  return !areDisjoint(views)
}

// Whether one of the schemas after accepts all that a schema before did.
function isCovered(comparison: Comparison, spot: SchemaSpot, before: Node, after: readonly Node[]): boolean {
  return after.some((node) => isMild(comparison, { ...spot, direction: 'request' }, { before, after: node }))
}

// Whether one of the schemas before accepted all that a schema after does.
function isWithin(comparison: Comparison, spot: SchemaSpot, after: Node, before: readonly Node[]): boolean {
  return before.some((node) =>
    isMild(comparison, { ...spot, direction: 'response' }, { before: node, after }),
  )
}

// Compares on the side, and tells nobody.
function isMild(comparison: Comparison, spot: SchemaSpot, { before, after }: Pair): boolean {
  const aside = asideOf(comparison)
  const pair = child(aside, { before: { node: before }, after: { node: after } }, 'node')
  compareSchemas(aside, spot, pair)
  return aside.found.every(({ change }) => change.bump !== 'major')
}
