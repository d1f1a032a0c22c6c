// Rules for single schema keywords, by direction. A request schema must not become narrower, since clients' requests must stay valid. A
// response schema must not become wider, since clients must still understand the responses.

import { integerRanges } from '../../src/lib/exact-number.js'
import { type Comparison, claimBoth, report, type Spot } from './comparison.js'
import { describeChange, eachKey, eachName, isNode, type Node, type Pair, toJson } from './node.js'
import { child, same } from './references.js'
import { typesOf } from './simplify.js'

export type Direction = 'request' | 'response'

/** The location of a schema, the direction of its values, and the pairs of schemas that lead there. */
export interface SchemaSpot extends Spot {
  readonly direction: Direction
  readonly trail: readonly Pair[]
}

/** The effect of a change on the set of valid values. A change may have both. */
export type Effect = 'narrows' | 'widens'

/** Reports the changes of a schema, without its subschemas. */
export function compareKeywords(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  compareTypes(comparison, spot, pair)
  compareValues(comparison, spot, pair)
  compareStatuses(comparison, spot, pair)
  compareBounds(comparison, spot, pair)
  compareConstraints(comparison, spot, pair)
  compareDefault(comparison, spot, pair)
  compareDiscriminator(comparison, spot, pair)
  compareOthers(comparison, spot, pair)
}

/** Reports a change: narrowing is breaking in requests, widening in responses. */
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

function compareTypes(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const effects = new Set<Effect>()
  eachName(typesOf(pair.before), typesOf(pair.after), {
    removed: () => effects.add('narrows'),
    added: () => effects.add('widens'),
  })
  if (effects.size === 0) return
  const [before, after] = [pair.before.type, pair.after.type].map(describe)
  const [effect, other] = [...effects]
  // An added, removed or changed enum implies the change of type and is reported itself.
  const hasValues = [pair.before.enum, pair.after.enum].map((values) => values !== undefined)
  const isImplied = hasValues[effect === 'widens' ? 0 : 1] && other === undefined
  if (isImplied || hasValues.every(Boolean)) claimBoth(comparison, pair, 'type')
  else reportEffect(comparison, spot, [...effects], describeChange('type', before, after), pair, 'type')
}

function describe(type: unknown): unknown {
  return Array.isArray(type) ? type.join('|') : type
}

function compareValues(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const [before, after] = [valuesOf(pair.before), valuesOf(pair.after)]
  const reportValues = (effect: Effect, what: string) =>
    reportEffect(comparison, spot, [effect], what, pair, 'enum')
  if (before === undefined && after) reportValues('narrows', `enum ${after.join(', ')} added`)
  if (before && after === undefined) reportValues('widens', `enum ${before.join(', ')} removed`)
  if (before === undefined || after === undefined) return
  eachName(before, after, {
    removed: (value) => reportValues('narrows', `enum value ${value} removed`),
    added: (value) => {
      const what = `enum value ${value} added`
      if (isOpen(pair.before)) report(comparison, spot, 'minor', what, pair, 'enum')
      else reportValues('widens', what)
    },
  })
}

function valuesOf({ enum: values }: Node): string[] | undefined {
  return Array.isArray(values) ? values.map(toJson) : undefined
}

// Clients that read "values may be added" expect new ones. The sentence must be in the earlier version: added together with a value, it
// warned nobody.
function isOpen(schema: Node): boolean {
  return /\bmay be added\b/i.test(String(schema.description))
}

// The status of each error code. Clients branch on either.
function compareStatuses(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const statuses = child(comparison, pair, 'x-enumStatuses')
  eachKey(statuses, {
    kept: (code) => {
      const [before, after] = [statuses.before[code], statuses.after[code]]
      if (before === after) return
      report(comparison, spot, 'major', describeChange(`status of ${code}`, before, after), statuses, code)
    },
  })
}

interface Bound {
  readonly keyword: string
  /** The keyword of the exclusive bound. */
  readonly exclusive?: string
  readonly isLower: boolean
  /** The bound without the keyword. */
  readonly absent: number
}

const lowest = { isLower: true, absent: Number.NEGATIVE_INFINITY }
const highest = { isLower: false, absent: Number.POSITIVE_INFINITY }

const bounds: readonly Bound[] = [
  { keyword: 'minimum', exclusive: 'exclusiveMinimum', ...lowest },
  { keyword: 'minLength', ...lowest, absent: 0 },
  { keyword: 'minItems', ...lowest, absent: 0 },
  { keyword: 'minProperties', ...lowest, absent: 0 },
  { keyword: 'maximum', exclusive: 'exclusiveMaximum', ...highest },
  { keyword: 'maxLength', ...highest },
  { keyword: 'maxItems', ...highest },
  { keyword: 'maxProperties', ...highest },
]

function compareBounds(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  for (const bound of bounds) {
    const [was, is] = [boundOf(pair.before, bound), boundOf(pair.after, bound)]
    if (was.limit === is.limit && was.keyword === is.keyword) continue
    const isStricter =
      was.limit === is.limit ? is.keyword === bound.exclusive : is.limit > was.limit === bound.isLower
    const { keyword } = is.limit === bound.absent ? was : is
    const isKeywordChanged = was.keyword !== is.keyword && ![was.limit, is.limit].includes(bound.absent)
    const what = isKeywordChanged
      ? `${was.keyword} ${was.limit} -> ${is.keyword} ${is.limit}`
      : describeChange(keyword, pair.before[keyword], pair.after[keyword])
    reportEffect(comparison, spot, [isStricter ? 'narrows' : 'widens'], what, pair, is.keyword, was.keyword)
  }
}

function boundOf(
  schema: Node,
  { keyword, exclusive, absent }: Bound,
): { keyword: string; limit: number | bigint } {
  const limit = (value: unknown) => (typeof value === 'bigint' ? value : Number(value))
  if (exclusive !== undefined && schema[exclusive] !== undefined) {
    return { keyword: exclusive, limit: limit(schema[exclusive]) }
  }
  return { keyword, limit: limit(schema[keyword] ?? absent) }
}

// Keywords whose changes both narrow and widen, with a few exceptions: which of two patterns accepts more is not decided.
const constraints = ['format', 'pattern', 'multipleOf', 'uniqueItems']

function compareConstraints(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  for (const keyword of constraints) {
    // `uniqueItems: false` is the default.
    const [before, after] = [pair.before[keyword] || undefined, pair.after[keyword] || undefined]
    if (before === after) continue
    reportEffect(
      comparison,
      spot,
      effectsOf(before, after),
      describeChange(keyword, before, after),
      pair,
      keyword,
    )
  }
}

function effectsOf(before: unknown, after: unknown): Effect[] {
  if (before === undefined || isWithin(after, before) || isMultiple(after, before)) return ['narrows']
  if (after === undefined || isWithin(before, after) || isMultiple(before, after)) return ['widens']
  return ['narrows', 'widens']
}

// Whether every number of one format is valid in the other.
function isWithin(format: unknown, other: unknown): boolean {
  if (format === 'float' && other === 'double') return true
  const [range, wider] = [integerRanges[String(format)], integerRanges[String(other)]]
  return range !== undefined && wider !== undefined && range[0] >= wider[0] && range[1] <= wider[1]
}

function isMultiple(a: unknown, b: unknown): boolean {
  return typeof a === 'number' && typeof b === 'number' && a % b === 0
}

/**
 * Reports a changed default, which changes the meaning of the same request. An added default may only document the existing behaviour.
 * In responses, defaults have no effect.
 */
export function compareDefault(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const [before, after] = [pair.before.default, pair.after.default]
  if (spot.direction === 'response' || same(comparison, before, after)) return
  const bump = before === undefined ? 'minor' : 'major'
  report(comparison, spot, bump, describeChange('default', before, after), pair, 'default')
}

// It rejects no value, but clients select the variant by it.
function compareDiscriminator(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  const key = 'discriminator'
  const [before, after] = [pair.before[key], pair.after[key]]
  if (same(comparison, before, after)) return
  const isSameProperty = isNode(before) && isNode(after) && before.propertyName === after.propertyName
  const [was, is] = [before, after].map((one) => (isNode(one) && isNode(one.mapping) ? one.mapping : {}))
  const isExtended = isSameProperty && Object.entries(was ?? {}).every(([value, ref]) => is?.[value] === ref)
  const isMajor = before !== undefined && !isExtended
  report(comparison, spot, isMajor ? 'major' : 'minor', `keyword "${key}" changed`, pair, key)
}

// Keywords without a rule, any change of which is breaking.
const others = [
  ...['not', 'if', 'then', 'else', 'contains', 'minContains', 'maxContains', 'propertyNames'],
  ...['dependentSchemas', 'unevaluatedProperties', 'unevaluatedItems', 'contentEncoding', 'contentMediaType'],
]

function compareOthers(comparison: Comparison, spot: SchemaSpot, pair: Pair): void {
  for (const keyword of others) {
    if (same(comparison, pair.before[keyword], pair.after[keyword])) continue
    report(comparison, spot, 'major', `keyword "${keyword}" changed`, pair, keyword)
  }
}
