// Schemas, down to those inside of them: fields, items, variants.
//
// Two schemas are compared keyword by keyword, not as the sets of values they accept; so moving keywords into an
// `allOf` is reported as a change. In doubt a change is breaking: a person sees at once that it is not, but nobody
// sees one that was passed over.

import { type Comparison, claimBoth, report } from './comparison.js'
import { compareDeprecated } from './deprecation.js'
import { compareKeywords, type Effect, reportEffect, type SchemaSpot } from './keywords.js'
import { eachKey, eachName, type Node, nodesOf, type Pair } from './node.js'
import { child, isOn } from './references.js'

/** Reports a schema's changes. */
export function compareSchemas(comparison: Comparison, at: SchemaSpot, pair: Pair): void {
  if (pair.before === pair.after || isOn(at.trail, pair)) return
  const spot = { ...at, trail: [...at.trail, pair] }
  compareKeywords(comparison, spot, pair)
  compareDeprecated(comparison, spot, pair)
  compareProperties(comparison, spot, pair)
  compareSchemas(comparison, { ...spot, where: `${spot.where}[]` }, child(comparison, pair, 'items'))
  for (const variants of lists) compareVariants(comparison, spot, pair, variants)
}

function compareProperties(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const properties = child(comparison, pair, 'properties')
  const at = (name: string) => ({ ...spot, where: `${spot.where}.${name}` })
  eachKey(properties, {
    removed: (name) => {
      // A field that is no longer named is still taken, unless the schema refuses what it does not name.
      const isBreaking = spot.direction === 'response' || pair.after.additionalProperties === false
      report(comparison, at(name), isBreaking ? 'major' : 'minor', 'removed', properties, name)
    },
    added: (name) => {
      const isRequired = requiredOf(pair.after).includes(name)
      const isBreaking = isRequired && spot.direction === 'request'
      const what = isRequired ? 'added, required' : 'added'
      report(comparison, at(name), isBreaking ? 'major' : 'minor', what, properties, name)
    },
    kept: (name) => compareSchemas(comparison, at(name), child(comparison, properties, name)),
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
  const { keyword, onAdded, onRemoved } = variants
  const reportVariant = (effect: Effect, what: string) =>
    reportEffect(comparison, spot, [effect], what, pair, keyword)
  const list = { before: byName(pair.before[keyword]), after: byName(pair.after[keyword]) }
  const [before, after] = [Object.keys(list.before).length, Object.keys(list.after).length]
  // The list itself narrows, whatever is in it.
  if (before === 0 && after > 0) reportVariant('narrows', `${keyword} added`)
  else if (before > 0 && after === 0) reportVariant('widens', `${keyword} removed`)
  else
    eachKey(list, {
      removed: (name) => reportVariant(onRemoved, `${keyword} ${name} removed`),
      added: (name) => reportVariant(onAdded, `${keyword} ${name} added`),
      kept: (name) =>
        compareSchemas(
          comparison,
          { ...spot, where: `${spot.where}(${name})` },
          child(comparison, list, name),
        ),
    })
}

// Those that are referred to by their names, the others by their order.
function byName(list: unknown): Node {
  const refs = nodesOf(list).filter(({ $ref }) => $ref !== undefined)
  const others = nodesOf(list).filter(({ $ref }) => $ref === undefined)
  return Object.fromEntries([
    ...refs.map((node) => [String(node.$ref).split('/').at(-1), node]),
    ...others.map((node, i) => [i + 1, node]),
  ])
}
