// Rules for single schema keywords, by direction. A request schema must not become narrower, because the
// requests of clients must stay valid. A response schema must not become wider, because clients must
// understand the responses.

import { isDeepStrictEqual } from 'node:util'
import { integerRanges } from 'contract-engine/lib/exact-number'
import { formats } from 'contract-engine/tools'
import { type Bump, claim, report, type Spot } from './comparison.js'
import { describeChange, eachKey, eachName, isNode, type Node, toJson } from './node.js'
import { child, inside, same } from './references.js'
import { compareOpaque, compareValue, type Effect, reportEffect } from './rules.js'
import { keywordTypes, typesOf } from './simplify.js'

/** Reports the changes of a schema, without its subschemas. */
export function compareKeywords(schema: Spot): void {
  compareTypes(schema)
  compareEnum(schema)
  compareStatuses(child(schema, 'x-enumStatuses'))
  compareBounds(schema)
  compareConstraints(schema)
  compareDefault(schema)
  compareDiscriminator(schema)
  // Their effect is reported at the properties, which they remove from requests or responses.
  claim(schema, 'readOnly', 'writeOnly')
  compareOpaque(schema, opaque, (keyword) => `keyword "${keyword}"`)
}

// Keywords without a rule. Any change of them is breaking.
const opaque = [
  ...['not', 'contains', 'minContains', 'maxContains', 'unevaluatedItems', '$dynamicRef'],
  ...['contentEncoding', 'contentMediaType', 'contentSchema', 'dependencies'],
]

function compareTypes(schema: Spot): void {
  const { before, after } = schema
  const effects = new Set<Effect>()
  eachName(typesOf(before), typesOf(after), {
    removed: () => effects.add('narrows'),
    added: () => effects.add('widens'),
  })
  if (effects.size === 0) return
  // An added, removed or changed enum implies the change of type, and is reported itself.
  const [hadEnum, hasEnum] = [before.enum !== undefined, after.enum !== undefined]
  const isImplied = (hadEnum || !effects.has('widens')) && (hasEnum || !effects.has('narrows'))
  const what = describeChange('type', typeText(before.type), typeText(after.type))
  if (isImplied) claim(schema, 'type')
  else reportEffect(schema, [...effects], what, 'type')
}

function typeText(type: unknown): unknown {
  return Array.isArray(type) ? type.join('|') : type
}

function compareEnum(schema: Spot): void {
  const [before, after] = [valuesOf(schema.before), valuesOf(schema.after)]
  const reportValues = (effect: Effect, what: string) => reportEffect(schema, [effect], what, 'enum')
  if (before === undefined && after) reportValues('narrows', `enum ${after.join(', ')} added`)
  if (before && after === undefined) reportValues('widens', `enum ${before.join(', ')} removed`)
  if (before === undefined || after === undefined) return
  claim(schema, 'enum') // clients do not see the order of the values
  eachName(before, after, {
    removed: (value) => reportValues('narrows', `enum value ${value} removed`),
    added: (value) => {
      const what = `enum value ${value} added`
      if (isOpen(schema.before)) report(schema, 'minor', what, 'enum')
      else reportValues('widens', what)
    },
  })
}

function valuesOf({ enum: values }: Node): string[] | undefined {
  return Array.isArray(values) ? values.map(toJson) : undefined
}

// True for a description that says "values may be added", so that clients expect new ones. Only the earlier
// version counts: a sentence that is added together with a value has warned nobody.
function isOpen(schema: Node): boolean {
  return /\bmay be added\b/i.test(String(schema.description))
}

// Compares the status of each error code. Clients branch on both.
function compareStatuses(statuses: Spot): void {
  eachKey(statuses, { kept: (code) => compareValue(statuses, code, () => 'major', `status of ${code}`) })
}

interface Bound {
  readonly keyword: string
  /** The keyword of the exclusive bound. */
  readonly exclusive?: string
  /** The bound if the keyword is absent; infinite for an upper bound. */
  readonly absent: number
}

const bounds: readonly Bound[] = [
  { keyword: 'minimum', exclusive: 'exclusiveMinimum', absent: Number.NEGATIVE_INFINITY },
  { keyword: 'minLength', absent: 0 },
  { keyword: 'minItems', absent: 0 },
  { keyword: 'minProperties', absent: 0 },
  { keyword: 'maximum', exclusive: 'exclusiveMaximum', absent: Number.POSITIVE_INFINITY },
  { keyword: 'maxLength', absent: Number.POSITIVE_INFINITY },
  { keyword: 'maxItems', absent: Number.POSITIVE_INFINITY },
  { keyword: 'maxProperties', absent: Number.POSITIVE_INFINITY },
]

function compareBounds(schema: Spot): void {
  for (const bound of bounds) {
    const [was, is] = [boundOf(schema.before, bound), boundOf(schema.after, bound)]
    if (was.limit === is.limit && was.keyword === is.keyword) continue
    const isLower = bound.absent < Number.POSITIVE_INFINITY
    const isStricter =
      was.limit === is.limit ? is.keyword === bound.exclusive : is.limit > was.limit === isLower
    const { keyword } = is.limit === bound.absent ? was : is
    const isKeywordChanged = was.keyword !== is.keyword && ![was.limit, is.limit].includes(bound.absent)
    const what = isKeywordChanged
      ? `${was.keyword} ${was.limit} -> ${is.keyword} ${is.limit}`
      : describeChange(keyword, schema.before[keyword], schema.after[keyword])
    const effects: Effect[] = isInBoth(schema, bound.keyword) ? [isStricter ? 'narrows' : 'widens'] : []
    reportEffect(schema, effects, what, is.keyword, was.keyword)
  }
}

// True if both schemas accept values of the type that a keyword is about. Otherwise, the change of type is
// reported.
function isInBoth({ before, after }: Spot, keyword: string): boolean {
  const type = keywordTypes.get(keyword)
  return type === undefined || [before, after].every((each) => typesOf(each).includes(type))
}

function boundOf(schema: Node, bound: Bound): { keyword: string; limit: number | bigint } {
  const { exclusive = bound.keyword } = bound
  const keyword = schema[exclusive] === undefined ? bound.keyword : exclusive
  const limit = schema[keyword] ?? bound.absent
  return { keyword, limit: typeof limit === 'bigint' ? limit : Number(limit) }
}

// Changes of these keywords narrow and widen, with exceptions: nothing shows which of two patterns accepts
// more.
const constraints = ['format', 'pattern', 'multipleOf', 'uniqueItems']

function compareConstraints(schema: Spot): void {
  for (const keyword of constraints) {
    const [before, after] = [constraintOf(schema.before, keyword), constraintOf(schema.after, keyword)]
    if (before === after) continue
    const effects = isInBoth(schema, keyword) ? effectsOf(before, after) : []
    reportEffect(schema, effects, describeChange(keyword, before, after), keyword)
  }
}

// Ignores `uniqueItems: false`, which is the default, and an unknown format, which is an annotation.
function constraintOf(schema: Node, keyword: string): unknown {
  const value = schema[keyword] || undefined
  return keyword === 'format' && !isChecked(schema) ? undefined : value
}

function isChecked({ format, ...schema }: Node): boolean {
  const types = typesOf(schema)
  if (format === 'float' || format === 'double') return types.includes('number')
  if (String(format) in integerRanges) return types.includes('integer')
  return String(format) in formats && types.includes('string')
}

function effectsOf(before: unknown, after: unknown): Effect[] {
  if (before === undefined || isWithin(after, before) || isMultiple(after, before)) return ['narrows']
  if (after === undefined || isWithin(before, after) || isMultiple(before, after)) return ['widens']
  return ['narrows', 'widens']
}

// True if every number of one format is valid in the other.
function isWithin(format: unknown, other: unknown): boolean {
  if (format === 'float' && other === 'double') return true
  const [range, wider] = [integerRanges[String(format)], integerRanges[String(other)]]
  return range !== undefined && wider !== undefined && range[0] >= wider[0] && range[1] <= wider[1]
}

function isMultiple(a: unknown, b: unknown): boolean {
  return typeof a === 'number' && typeof b === 'number' && a % b === 0
}

/**
 * Reports a changed default, which changes the meaning of a request. An added default is not breaking: it may
 * only document the existing behaviour. In responses, defaults have no effect.
 */
export function compareDefault(schema: Spot): void {
  const [before, after] = [schema.before.default, schema.after.default]
  // The default is data, so it contains no reference.
  if (schema.direction === 'response' || isDeepStrictEqual(before, after)) return
  report(
    schema,
    before === undefined ? 'minor' : 'major',
    describeChange('default', before, after),
    'default',
  )
}

// A discriminator rejects no value, but clients select the variant by it.
function compareDiscriminator(schema: Spot): void {
  const key = 'discriminator'
  const [before, after] = [schema.before[key], schema.after[key]]
  if (isNode(before) && isNode(after) && before.propertyName === after.propertyName) {
    claim(schema, key)
    compareMappings({ ...schema, before, after })
  } else if (!same(schema.comparison, before, after)) {
    report(schema, before === undefined ? 'minor' : 'major', `keyword "${key}" changed`, key)
  }
}

function compareMappings(discriminator: Spot): void {
  const key = 'mapping'
  const { before, after } = inside(discriminator, discriminator.before[key], discriminator.after[key])
  const reportValue = (bump: Bump, value: string, what: string) =>
    report(discriminator, bump, `discriminator value ${value} ${what}`, key)
  eachKey(
    { before, after },
    {
      removed: (value) => reportValue('major', value, 'removed'),
      added: (value) => reportValue('minor', value, 'added'),
      kept: (value) => {
        const [was, is] = [{ $ref: before[value] }, { $ref: after[value] }]
        const isSame = was.$ref === is.$ref || same(discriminator.comparison, was, is)
        if (!isSame) reportValue('major', value, 'refers to another schema')
      },
    },
  )
}
