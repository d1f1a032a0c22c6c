// The rules of a schema that look at one keyword at a time, by direction. What callers send must stay acceptable,
// so a schema of a request must not become narrower; what they read must stay understood, so a schema of a
// response must not become wider.

import { type Comparison, report, type Spot } from './comparison.js'
import { eachKey, eachName, type Node, type Pair, step } from './node.js'
import { child, same } from './references.js'

export type Direction = 'request' | 'response'

/** Where a rule is looking at a schema, which way its values travel, and the schemas that lead there. */
export interface SchemaSpot extends Spot {
  readonly direction: Direction
  readonly trail: readonly Pair[]
}

/** What a change does to the set of values that a schema accepts. A change may do both. */
export type Effect = 'narrows' | 'widens'

/** Reports the changes of one schema, all but those of the schemas inside of it. */
export function compareKeywords(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  compareTypes(comparison, spot, pair)
  compareValues(comparison, spot, pair)
  compareStatuses(comparison, spot, pair)
  compareBounds(comparison, spot, pair)
  compareConstraints(comparison, spot, pair)
  compareDefault(comparison, spot, pair)
  compareOthers(comparison, spot, pair)
}

/** Reports a change by its effect: what narrows breaks requests, what widens breaks responses. */
export function reportEffect(
  comparison: Comparison,
  spot: SchemaSpot,
  effects: readonly Effect[],
  what: string,
  pair: Pair,
  ...keys: readonly string[]
): void {
  const breaking = spot.direction === 'request' ? 'narrows' : 'widens'
  report(comparison, spot, effects.includes(breaking) ? 'major' : 'minor', what, pair, ...keys)
}

const types = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']

function compareTypes(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const effects = new Set<Effect>()
  eachName(typesOf(pair.before), typesOf(pair.after), {
    removed: () => effects.add('narrows'),
    added: () => effects.add('widens'),
  })
  if (effects.size === 0) return
  const [before, after] = [pair.before.type, pair.after.type].map(inWords)
  reportEffect(comparison, spot, [...effects], step('type', before, after), pair, 'type')
}

function typesOf({ type = types }: Node): unknown[] {
  const names = [type].flat()
  return names.includes('number') ? [...names, 'integer'] : names
}

function inWords(type: unknown): unknown {
  return Array.isArray(type) ? type.join('|') : type
}

function compareValues(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const [before, after] = [valuesOf(pair.before), valuesOf(pair.after)]
  const reportValues = (effect: Effect, what: string) =>
    reportEffect(comparison, spot, [effect], what, pair, 'enum', 'const')
  if (before === undefined && after) reportValues('narrows', `enum ${after.join(', ')} added`)
  if (before && after === undefined) reportValues('widens', `enum ${before.join(', ')} removed`)
  if (before === undefined || after === undefined) return
  eachName(before, after, {
    removed: (value) => reportValues('narrows', `enum value ${value} removed`),
    added: (value) => {
      const what = `enum value ${value} added`
      if (isOpen(pair.before)) report(comparison, spot, 'minor', what, pair, 'enum', 'const')
      else reportValues('widens', what)
    },
  })
}

function valuesOf(schema: Node): string[] | undefined {
  const values = schema.const === undefined ? schema.enum : [schema.const]
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : undefined
}

// Whoever read "codes may be added" is prepared for one. It counts in the version they read: a warning that
// comes with the new value is none.
function isOpen(schema: Node): boolean {
  return /\bmay be added\b/i.test(String(schema.description))
}

// The status that goes with each error code: callers branch on either.
function compareStatuses(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const statuses = child(comparison, pair, 'x-enumStatuses')
  eachKey(statuses, {
    kept: (code) => {
      const [before, after] = [statuses.before[code], statuses.after[code]]
      if (before === after) return
      report(comparison, spot, 'major', step(`status of ${code}`, before, after), statuses, code)
    },
  })
}

// By keyword: whether a greater value accepts less, and what its absence means.
const bounds: readonly { keyword: string; isLower: boolean; absent: number }[] = [
  { keyword: 'minimum', isLower: true, absent: Number.NEGATIVE_INFINITY },
  { keyword: 'exclusiveMinimum', isLower: true, absent: Number.NEGATIVE_INFINITY },
  { keyword: 'minLength', isLower: true, absent: 0 },
  { keyword: 'minItems', isLower: true, absent: 0 },
  { keyword: 'minProperties', isLower: true, absent: 0 },
  { keyword: 'maximum', isLower: false, absent: Number.POSITIVE_INFINITY },
  { keyword: 'exclusiveMaximum', isLower: false, absent: Number.POSITIVE_INFINITY },
  { keyword: 'maxLength', isLower: false, absent: Number.POSITIVE_INFINITY },
  { keyword: 'maxItems', isLower: false, absent: Number.POSITIVE_INFINITY },
  { keyword: 'maxProperties', isLower: false, absent: Number.POSITIVE_INFINITY },
]

function compareBounds(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  for (const { keyword, isLower, absent } of bounds) {
    const [was, is] = [pair.before[keyword], pair.after[keyword]]
    const [before, after] = [Number(was ?? absent), Number(is ?? absent)]
    if (before === after) continue
    const effect = after > before === isLower ? 'narrows' : 'widens'
    reportEffect(comparison, spot, [effect], step(keyword, was, is), pair, keyword)
  }
}

// Nobody can tell of two patterns which accepts more.
const constraints = ['format', 'pattern', 'multipleOf', 'uniqueItems']
const widerFormats = ['int32 -> int64', 'float -> double']
const narrowerFormats = ['int64 -> int32', 'double -> float']

function compareConstraints(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  for (const keyword of constraints) {
    // `uniqueItems: false` says nothing.
    const [before, after] = [pair.before[keyword] || undefined, pair.after[keyword] || undefined]
    if (before === after) continue
    reportEffect(comparison, spot, effectsOf(before, after), step(keyword, before, after), pair, keyword)
  }
}

function effectsOf(before: unknown, after: unknown): Effect[] {
  const formats = `${before} -> ${after}`
  if (before === undefined || narrowerFormats.includes(formats)) return ['narrows']
  if (after === undefined || widerFormats.includes(formats)) return ['widens']
  return ['narrows', 'widens']
}

// A default that changes is another answer to the same request. One that is written down where there was none
// may be what the service did all along. In a response a default says nothing.
function compareDefault(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const [before, after] = [pair.before.default, pair.after.default]
  if (spot.direction === 'response' || same(comparison, before, after)) return
  const bump = before === undefined ? 'minor' : 'major'
  report(comparison, spot, bump, step('default', before, after), pair, 'default')
}

// Keywords that no rule can weigh.
const others = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'minContains',
  'maxContains',
  'prefixItems',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedProperties',
  'unevaluatedItems',
  'discriminator',
  'contentEncoding',
  'contentMediaType',
  'readOnly',
  'writeOnly',
]

function compareOthers(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  for (const keyword of others) {
    if (same(comparison, pair.before[keyword], pair.after[keyword])) continue
    report(comparison, spot, 'major', `keyword ${keyword} changed`, pair, keyword)
  }
}
