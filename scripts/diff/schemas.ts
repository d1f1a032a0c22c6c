// Schemas with their subschemas: properties, items, variants.
//
// Two normalised schemas are compared keyword by keyword, choices of variants by the values they accept. When
// in doubt, a change is breaking: a false alarm is easily recognised, a missed one is not.

import { claim, report, type Spot, trialOf } from './comparison.js'
import { compareDeprecated } from './deprecation.js'
import { compareDefault, compareKeywords } from './keywords.js'
import { eachKey, eachName, type Node, nodesOf, type Pair } from './node.js'
import { child, inside, isInTrail, same } from './references.js'
import { type Effect, isFilledIn, reportEffect } from './rules.js'
import { acceptsAnything, areDisjoint, assertionsOf } from './simplify.js'

/** Reports the changes of a schema. */
export function compareSchemas(schema: Spot): void {
  const { comparison, before, after, trail } = schema
  const unchanged = comparison.unchanged[schema.direction]
  if (before === after || unchanged.get(before)?.has(after)) return
  if (isInTrail(trail, schema)) {
    comparison.recursive.push(schema)
    return
  }
  const known = comparison.found.length + comparison.recursive.length
  compareSchema({ ...schema, trail: [...trail, schema] })
  // A pair that was compared completely and without a difference need not be compared again.
  if (comparison.found.length + comparison.recursive.length > known) return
  unchanged.set(before, (unchanged.get(before) ?? new WeakSet()).add(after))
}

function compareSchema(schema: Spot): void {
  if (compareChoice(schema)) return
  compareKeywords(schema)
  compareDeprecated(schema)
  compareProperties(schema)
  compareSchemas(child(schema, 'items', `${schema.where}[]`))
  for (const keyword of ['patternProperties', 'prefixItems', 'dependentRequired']) {
    compareConditions(schema, keyword)
  }
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) compareVariants(schema, keyword)
}

// Keywords with conditions on some properties or items: an added condition narrows.
function compareConditions(schema: Spot, keyword: string): void {
  const conditions = inside(schema, withoutList(schema.before[keyword]), withoutList(schema.after[keyword]))
  eachKey(conditions, {
    removed: (name) => reportEffect(schema, ['widens'], `${keyword} ${name} removed`, keyword),
    added: (name) => reportEffect(schema, ['narrows'], `${keyword} ${name} added`, keyword),
    kept: (name) => {
      const where = `${schema.where}.${name}`
      if (keyword !== 'dependentRequired') return compareSchemas(child(conditions, name, where))
      const at = { ...schema, where }
      eachName([conditions.before[name]].flat(), [conditions.after[name]].flat(), {
        removed: (field) => reportEffect(at, ['widens'], `${field} no longer required`, keyword),
        added: (field) => reportEffect(at, ['narrows'], `${field} required`, keyword),
      })
    },
  })
}

// Turns a list into a mapping by index.
function withoutList(value: unknown): unknown {
  return Array.isArray(value) ? { ...value } : value
}

function compareProperties(schema: Spot): void {
  const properties = child(schema, 'properties')
  const whereOf = (name: string) => `${schema.where}.${name}`
  const at = (name: string) => ({ ...properties, where: whereOf(name) })
  const fieldOf = (name: string) => child(properties, name, whereOf(name))
  // No part of requests, or of responses (OpenAPI 3.1, section 4.8.24; JSON Schema validation, section 9.4).
  const key = schema.direction === 'request' ? 'readOnly' : 'writeOnly'
  const namesIn = (side: keyof Pair) =>
    Object.keys(properties[side]).filter((name) => fieldOf(name)[side][key] !== true)
  // A removed property is still accepted, unless the schema forbids additional properties.
  const isRemovalBreaking = schema.direction === 'response' || schema.after.additionalProperties === false
  eachName(namesIn('before'), namesIn('after'), {
    removed: (name) => {
      if (name in properties.after) report(fieldOf(name), 'major', `removed (now ${key})`, key)
      else report(at(name), isRemovalBreaking ? 'major' : 'minor', 'removed', name)
    },
    added: (name) => {
      const isRequired = requiredOf(schema.after).includes(name) && !isFilledIn(fieldOf(name))
      const bump = isRequired && schema.direction === 'request' ? 'major' : 'minor'
      const what = isRequired ? 'added, required' : 'added'
      if (name in properties.before) report(fieldOf(name), bump, what, key)
      else report(at(name), bump, what, name)
    },
    kept: (name) => compareSchemas(fieldOf(name)),
  })
  compareRequired(schema, properties)
  compareAdditional(schema)
}

function compareRequired(schema: Spot, properties: Spot): void {
  const reportRequired = (effect: Effect, what: string) => (name: string) => {
    // A removed or added property is reported together with `required`.
    if (name in properties.before !== name in properties.after) return claim(schema, 'required')
    const effects = isFilledIn(child(properties, name)) ? [] : [effect]
    reportEffect({ ...schema, where: `${schema.where}.${name}` }, effects, what, 'required')
  }
  eachName(requiredOf(schema.before), requiredOf(schema.after), {
    removed: reportRequired('widens', 'required -> optional'),
    added: reportRequired('narrows', 'optional -> required'),
  })
}

function requiredOf({ required }: Node): string[] {
  return Array.isArray(required) ? required.map(String) : []
}

// Additional properties. Clients must ignore unknown ones, since properties may be added to a response at any
// time, so allowing them is not breaking.
function compareAdditional(schema: Spot): void {
  const key = 'additionalProperties'
  const [before, after] = [schema.before[key] !== false, schema.after[key] !== false]
  if (before && after) compareSchemas(child(schema, key, `${schema.where}.*`))
  else if (before) reportEffect(schema, ['narrows'], 'unknown fields are rejected', key)
  else if (after) report(schema, 'minor', 'unknown fields are allowed', key)
}

function compareVariants(schema: Spot, keyword: string): void {
  const [was, is] = [nodesOf(schema.before[keyword]), nodesOf(schema.after[keyword])]
  // An added list narrows, whatever its variants.
  if (was.length === 0 && is.length > 0) reportEffect(schema, ['narrows'], `${keyword} added`, keyword)
  else if (was.length > 0 && is.length === 0) reportEffect(schema, ['widens'], `${keyword} removed`, keyword)
  else compareLists(schema, keyword, was, is)
}

function compareLists(schema: Spot, keyword: string, was: readonly Node[], is: readonly Node[]): void {
  const { kept, removed, added } = matched(schema, was, is)
  const isChoice = keyword !== 'allOf'
  const [onRemoved, onAdded] = isChoice ? (['narrows', 'widens'] as const) : (['widens', 'narrows'] as const)
  for (const variant of kept) compareSchemas(variant)
  for (const node of removed) {
    const effects = isChoice && isCovered(schema, node, is) ? [] : [onRemoved]
    reportEffect(schema, effects, `${keyword} ${nameOf(node, was)} removed`, keyword)
  }
  for (const node of added) {
    const effects = isChoice && isWithin(schema, node, was) ? [] : [onAdded]
    reportEffect(schema, effects, `${keyword} ${nameOf(node, is)} added`, keyword)
  }
}

interface Matches {
  readonly kept: readonly Spot[]
  readonly removed: readonly Node[]
  readonly added: readonly Node[]
}

// Matches variants by `$ref`, then by equality, then inline ones by order.
export function matched(schema: Spot, was: readonly Node[], is: readonly Node[]): Matches {
  const kept: Spot[] = []
  const [removed, added] = [[...was], [...is]]
  const match = (isMatch: (before: Node, after: Node) => boolean) => {
    for (const node of [...removed]) {
      const other = added.find((one) => isMatch(node, one))
      if (other === undefined) continue
      removed.splice(removed.indexOf(node), 1)
      added.splice(added.indexOf(other), 1)
      kept.push(inside(schema, node, other, `${schema.where}(${nameOf(node, was)})`))
    }
  }
  match((node, other) => node.$ref !== undefined && node.$ref === other.$ref)
  match((node, other) => same(schema.comparison, node, other))
  match((node, other) => node.$ref === undefined && other.$ref === undefined)
  return { kept, removed, added }
}

function nameOf(node: Node, list: readonly Node[]): string {
  return node.$ref === undefined
    ? String(list.indexOf(node) + 1)
    : String(String(node.$ref).split('/').at(-1))
}

// Compares a schema with a choice (`anyOf`, `oneOf`) that replaced it, the reverse, or both kinds of choice.
function compareChoice(schema: Spot): boolean {
  const [before, after] = [choiceOf(schema.before), choiceOf(schema.after)]
  if (before?.keyword === after?.keyword) return false
  // Beside other keywords, a choice narrows; `compareVariants` reports it.
  if ([before, after].some((choice) => choice && !choice.isAlone)) return false
  const was = before?.variants ?? [assertionsOf(schema.before)]
  const is = after?.variants ?? [assertionsOf(schema.after)]
  const isMinor =
    schema.direction === 'request'
      ? was.every((node) => isCovered(schema, node, is)) && !mayOverlap(schema, after)
      : is.every((node) => isWithin(schema, node, was))
  compareDefault(schema)
  compareDeprecated(schema)
  const what = [before?.keyword, after?.keyword].filter(Boolean).join(' -> ')
  const change = before && after ? what : `${what} ${after ? 'added' : 'removed'}`
  const keys = Object.keys({ ...schema.before, ...schema.after })
  report(schema, isMinor ? 'minor' : 'major', change, ...keys)
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
function mayOverlap(schema: Spot, choice: Choice | undefined): boolean {
  if (choice?.keyword !== 'oneOf') return false
  return !areDisjoint(choice.variants.map((node) => inside(schema, undefined, node).after))
}

// Whether one of the new schemas accepts everything that the old schema did.
function isCovered(schema: Spot, before: Node, after: readonly Node[]): boolean {
  return after.some((node) => isCompatible({ ...inside(schema, before, node), direction: 'request' }))
}

// Whether one of the old schemas accepted everything that the new schema does.
function isWithin(schema: Spot, after: Node, before: readonly Node[]): boolean {
  return before.some((node) => isCompatible({ ...inside(schema, node, after), direction: 'response' }))
}

function isCompatible(schema: Spot): boolean {
  const trial = trialOf(schema)
  compareSchemas(trial)
  return trial.comparison.found.every(({ change }) => change.bump !== 'major')
}
