// Compares the members of objects and arrays. A member that nothing describes has the schema of the other
// members: `items`, or `additionalProperties` or `unevaluatedProperties`, of this schema or of a schema
// around it. Without these, any value is accepted. So an added or removed member is compared with the schema
// that it has as one of the others.

import { extendedBy, subschemasOf } from 'contract-engine/tools'
import { claim, report, type Spot } from './comparison.js'
import { eachName, isNode, keysOf, type Node, nodesOf, type Pair } from './node.js'
import { child, inside, resolve } from './references.js'
import { type Effect, isFilledIn, reportEffect } from './rules.js'
import { acceptsAnything } from './simplify.js'

/** Compares the schemas of a member; it is `compareSchemas` of schemas.ts. */
export type CompareSchemas = (spot: Spot) => void

/** Reports changes of the properties of an object. */
export function compareObject(schema: Spot, compareSchemas: CompareSchemas): void {
  compareProperties(schema, compareSchemas)
  comparePatterns(schema, compareSchemas)
  compareOthers(schema, compareSchemas)
  compareSchemas(member(schema, schema.before.propertyNames, schema.after.propertyNames, '.(name)'))
  compareDependentRequired(schema)
}

/** Reports changes of the items of an array. */
export function compareArray(schema: Spot, compareSchemas: CompareSchemas): void {
  const [before, after] = [itemsOf(schema.before), itemsOf(schema.after)]
  for (let i = 0; i < Math.max(before.length, after.length); i++) {
    const [was, is] = [before[i] ?? schema.before.items, after[i] ?? schema.after.items]
    compareSchemas(member(schema, was, is, `[${i}]`))
  }
  claim(schema, 'prefixItems')
  compareSchemas(member(schema, schema.before.items, schema.after.items, '[]'))
}

function itemsOf({ prefixItems }: Node): readonly unknown[] {
  return Array.isArray(prefixItems) ? prefixItems : []
}

// Returns the spot of two schemas of a member. The schemas around this one describe another value.
function member(schema: Spot, before: unknown, after: unknown, name: string): Spot {
  return { ...inside(schema, before, after, `${schema.where}${name}`), around: [] }
}

function compareProperties(schema: Spot, compareSchemas: CompareSchemas): void {
  const properties = child(schema, 'properties')
  const fieldOf = (name: string) =>
    member(schema, properties.before[name], properties.after[name], `.${name}`)
  const key = forbiddenIn(schema)
  const namesIn = (side: keyof Pair) =>
    Object.keys(properties[side]).filter((name) => !isForbidden(schema, side, name))
  const at = (name: string) => ({ ...properties, where: fieldOf(name).where })
  eachName(namesIn('before'), namesIn('after'), {
    removed: (name) => {
      if (name in properties.after) report(fieldOf(name), 'major', `removed (now ${key})`, key)
      else reportRemoved(schema, at(name), name, compareSchemas)
    },
    added: (name) => {
      const isRequired = requiredOf(schema.after).includes(name) && !isFilledIn(fieldOf(name))
      const bump = isRequired && schema.direction === 'request' ? 'major' : 'minor'
      const what = isRequired ? 'added, required' : 'added'
      if (name in properties.before) return report(fieldOf(name), bump, what, key)
      report(at(name), bump, what, name)
      if (mayBeDescribed(schema, name)) compareSchemas(fieldOf(name))
      else withOthers(schema, 'before', name, properties.after[name]).forEach(compareSchemas)
    },
    kept: (name) => compareSchemas(fieldOf(name)),
  })
  compareRequired(schema, properties)
}

// A removed property is still accepted in a request if other properties are: it is now one of them.
function reportRemoved(schema: Spot, field: Spot, name: string, compareSchemas: CompareSchemas): void {
  const isRefused = schema.direction === 'response' || othersOf(schema, 'after', name) === false
  report(field, isRefused ? 'major' : 'minor', 'removed', name)
  if (!isRefused) withOthers(schema, 'after', name, field.before[name]).forEach(compareSchemas)
}

// Returns the spot of a property that only one side has, with the schema of other properties on the other
// side. Unknown properties of any value are not described, so to describe one changes nothing for readers of
// the description.
function withOthers(schema: Spot, side: keyof Pair, name: string, property: unknown): Spot[] {
  const others = othersOf(schema, side, name)
  if (!isNode(others) || acceptsAnything(others)) return []
  const [before, after] = side === 'before' ? [others, property] : [property, others]
  return [member(schema, before, after, `.${name}`)]
}

// Returns the keyword that excludes a property from requests, or from responses (OpenAPI 3.1, section 4.8.24;
// JSON Schema Validation, section 9.4).
function forbiddenIn({ direction }: Spot): 'readOnly' | 'writeOnly' {
  return direction === 'request' ? 'readOnly' : 'writeOnly'
}

// Decides as the server does: by this schema, the schemas around it and their `allOf`, and by the `allOf` of
// the property.
function isForbidden(schema: Spot, side: keyof Pair, name: string): boolean {
  const { comparison, around } = schema
  const follow = (node: Node) => resolve(comparison, comparison.documents[side], node)
  const partsOf = (node: Node) => [...extendedBy(node, follow)]
  return [schema, ...around]
    .flatMap((each) => partsOf(each[side]))
    .flatMap(({ properties }) =>
      isNode(properties) && Object.hasOwn(properties, name) ? properties[name] : [],
    )
    .some(
      (property) => isNode(property) && partsOf(property).some((each) => each[forbiddenIn(schema)] === true),
    )
}

// Compares the names that a client, or the server, must send.
function compareRequired(schema: Spot, properties: Spot): void {
  const isSent = (side: keyof Pair) => (name: string) => !isForbidden(schema, side, name)
  const reportRequired = (effect: Effect, what: string) => (name: string) => {
    // A removed or added property is reported together with `required`.
    const isKept = name in properties.before === name in properties.after
    if (!isKept || isSent('before')(name) !== isSent('after')(name)) return claim(schema, 'required')
    const effects = isFilledIn(child(properties, name)) ? [] : [effect]
    reportEffect({ ...schema, where: `${schema.where}.${name}` }, effects, what, 'required')
  }
  const namesIn = (side: keyof Pair) => requiredOf(schema[side]).filter(isSent(side))
  eachName(namesIn('before'), namesIn('after'), {
    removed: reportRequired('widens', 'required -> optional'),
    added: reportRequired('narrows', 'optional -> required'),
  })
}

function requiredOf({ required }: Node): string[] {
  return Array.isArray(required) ? required.map(String) : []
}

function comparePatterns(schema: Spot, compareSchemas: CompareSchemas): void {
  const patterns = child(schema, 'patternProperties')
  const compare = (pattern: string, before: unknown, after: unknown) =>
    compareSchemas(member(schema, before, after, `.${pattern}`))
  const reportPattern = (effects: readonly Effect[], what: string) =>
    reportEffect(schema, effects, `patternProperties ${what}`, 'patternProperties')
  eachName(Object.keys(patterns.before), Object.keys(patterns.after), {
    removed: (pattern) => {
      reportPattern(schema.direction === 'response' ? ['widens'] : [], `${pattern} removed`)
      compare(pattern, patterns.before[pattern], othersOf(schema, 'after'))
    },
    added: (pattern) => {
      // Declared properties may match the pattern, too.
      const isNarrowing = keysOf(schema.before.properties).some((name) => isMatch(pattern, name))
      reportPattern(isNarrowing ? ['narrows'] : [], `${pattern} added`)
      const others = othersOf(schema, 'before')
      if (others !== false) compare(pattern, others, patterns.after[pattern])
    },
    kept: (pattern) => compare(pattern, patterns.before[pattern], patterns.after[pattern]),
  })
}

function isMatch(pattern: string, name: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(name)
  } catch {
    return true
  }
}

// Compares additional properties. Clients must ignore unknown ones, since properties may be added to a
// response at any time. So it is not breaking to allow them.
function compareOthers(schema: Spot, compareSchemas: CompareSchemas): void {
  const keys = ['additionalProperties', 'unevaluatedProperties']
  const [was, is] = [ownOthers(schema.before), ownOthers(schema.after)]
  if (was.schema !== false && is.schema !== false) compareSchemas(member(schema, was.schema, is.schema, '.*'))
  else if (was.schema !== false) reportEffect(schema, ['narrows'], 'unknown fields are rejected', ...keys)
  else if (is.schema !== false) report(schema, 'minor', 'unknown fields are allowed', ...keys)
  // `unevaluatedProperties` leaves out the properties that alternatives and conditions describe;
  // `additionalProperties` does not.
  const isNarrowed =
    was.key === keys[1] && is.key === keys[0] && describing.some((key) => key in schema.after)
  if (isNarrowed) reportEffect(schema, ['narrows'], `${was.key} -> ${is.key}`, ...keys)
  claim(schema, ...keys)
}

const describing = ['allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas']

function ownOthers(schema: Node): { readonly key?: string; readonly schema?: unknown } {
  const key = ['additionalProperties', 'unevaluatedProperties'].find((each) => each in schema)
  return key === undefined ? {} : { key, schema: schema[key] }
}

function compareDependentRequired(schema: Spot): void {
  const key = 'dependentRequired'
  const dependent = child(schema, key)
  const namesIn = (side: keyof Pair, name: string) => {
    const names = isForbidden(schema, side, name) ? [] : [dependent[side][name] ?? []].flat()
    return names.filter((each) => !isForbidden(schema, side, String(each)))
  }
  for (const name of Object.keys({ ...dependent.before, ...dependent.after })) {
    const at = { ...schema, where: `${schema.where}.${name}` }
    eachName(namesIn('before', name), namesIn('after', name), {
      removed: (field) => reportEffect(at, ['widens'], `${field} no longer required with it`, key),
      added: (field) => reportEffect(at, ['narrows'], `${field} required with it`, key),
    })
  }
}

// Returns the schema of a property that no `properties` of this schema describe; undefined if it may have any
// value. Without a name, the property matches no pattern either.
function othersOf(schema: Spot, side: keyof Pair, name?: string): unknown {
  const node = schema[side]
  const pattern = patternFor(node, name)
  if (pattern !== undefined) return pattern
  if ('additionalProperties' in node) return node.additionalProperties
  if ('unevaluatedProperties' in node) return node.unevaluatedProperties
  for (const { [side]: outer } of schema.around.toReversed()) {
    if (name !== undefined && describes(schema, side, outer, name)) return undefined
    if ('unevaluatedProperties' in outer) return outer.unevaluatedProperties
  }
  return undefined
}

function patternFor({ patternProperties }: Node, name: string | undefined): unknown {
  if (!isNode(patternProperties) || name === undefined) return undefined
  return Object.entries(patternProperties).find(([pattern]) => isMatch(pattern, name))?.[1]
}

// True if a schema around this one, or another member of its `allOf`, describes a property.
function describes({ comparison, ...spot }: Spot, side: keyof Pair, outer: Node, name: string): boolean {
  const members = nodesOf(outer.allOf).map((each) => resolve(comparison, comparison.documents[side], each))
  return [outer, ...members].some((node) => {
    if (node === spot[side]) return false
    const isDeclared = isNode(node.properties) && name in node.properties
    return isDeclared || 'additionalProperties' in node || patternFor(node, name) !== undefined
  })
}

// True if an alternative or a condition of this schema, or of a schema around it, described a property. If
// this schema is a variant of a choice, the other variants do not count: they describe other values.
function mayBeDescribed({ comparison, before, around }: Spot, name: string): boolean {
  const applied = new Set([before, ...around.map((pair) => pair.before)])
  const schemas = new Set(applied)
  // A Set also iterates over schemas that are added meanwhile.
  for (const schema of schemas) {
    const inner = subschemasOf(schema).filter((each) => each.appliesTo === 'value' && !each.isCondition)
    const targets = inner.map((each) => ({
      ...each,
      target: resolve(comparison, comparison.documents.before, each.schema),
    }))
    const chosen = targets
      .filter(({ keyword, target }) => isChoice(keyword) && applied.has(target))
      .map(({ keyword }) => keyword)
    for (const { keyword, target } of targets) if (!chosen.includes(keyword)) schemas.add(target)
  }
  return [...schemas].some((schema) => isNode(schema.properties) && name in schema.properties)
}

function isChoice(keyword: string): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf'
}

/** True if this schema, or one around it, has a keyword for all that nothing else describes. */
export function isUnevaluatingAround({ before, after, around }: Spot): boolean {
  const keys = ['unevaluatedProperties', 'unevaluatedItems']
  const pairs = [{ before, after }, ...around]
  return pairs.some((pair) => keys.some((key) => key in pair.before || key in pair.after))
}
