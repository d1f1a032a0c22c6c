// Replaces Ajv's `unevaluatedProperties` and `unevaluatedItems` (JSON Schema Core 2020-12, section 11), which
// lose what is evaluated beside `$ref`, if/then/else and alternatives (Ajv issues 2483 and 2559, for 8.20),
// and take every item for evaluated beside `contains`. Here each schema that is asked notes for its value
// what it evaluates; an alternative or condition that fails takes that back. So the cost is linear in the
// value.

import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { not } from 'ajv/dist/compile/codegen/index.js'
import names from 'ajv/dist/compile/names.js'
import { Type } from 'ajv/dist/compile/util.js'
import contains from 'ajv/dist/vocabularies/applicator/contains.js'
import items from 'ajv/dist/vocabularies/unevaluated/unevaluatedItems.js'
import properties from 'ajv/dist/vocabularies/unevaluated/unevaluatedProperties.js'
import type { Schema } from '../contract/contract.js'
import { type AnySchema, applied, asksForUnevaluated, mapSchemas } from '../contract/keywords.js'
import { toRegExp } from '../contract/patterns.js'
import { noteUndo } from './changes.js'
import { call } from './generated-code.js'
import { once } from './once.js'

/** What a schema evaluates of a value. */
interface Evaluated {
  readonly property: (name: string) => boolean
  /** How many items it evaluates, from the first one on, and which others. */
  readonly length: number
  readonly items?: ReadonlySet<number>
}

/** Replaces the keywords of an Ajv, and adds `evaluates`, which withEvaluations sets. */
export function addUnevaluated(ajv: Ajv): void {
  ajv.opts.unevaluated = false // Ajv's own bookkeeping
  const { code: _, ...ofContains } = contains.default as CodeKeywordDefinition
  const { code: __, ...ofProperties } = properties.default as CodeKeywordDefinition
  const { code: ___, ...ofItems } = items.default as CodeKeywordDefinition
  for (const keyword of ['contains', 'unevaluatedProperties', 'unevaluatedItems']) ajv.removeKeyword(keyword)
  // Before all others: a schema does not see what those beside it evaluate.
  ajv.addKeyword({ keyword: 'evaluates', before: '$dynamicAnchor', code: noteEvaluated })
  ajv.addKeyword({ ...ofContains, code: judgeContains })
  ajv.addKeyword({
    ...ofProperties,
    code: (cxt) => judgeOthers(cxt, Type.Str, otherProperties, 'unevaluatedProperty'),
  })
  ajv.addKeyword({
    ...ofItems,
    trackErrors: true,
    code: (cxt) => judgeOthers(cxt, Type.Num, otherItems, 'len'),
  })
}

/** A schema that notes what it evaluates, wherever one around it, or itself, asks for that. */
export function withEvaluations<Each extends AnySchema>(schema: Each, how = applied): Each {
  return mapSchemas(
    schema,
    (each, { isAsked }) => (isAsked || asksForUnevaluated(each) ? noting(each) : each),
    how,
  )
}

// An alternative takes back what it has noted if it fails. Ajv skips an `if` without `then` and `else`.
function noting(schema: Schema): Schema {
  const { if: condition, not: excluded, ...others } = schema
  const isAlone = others.then === undefined && others.else === undefined
  return {
    ...schema,
    ...(excluded !== undefined && { not: { anyOf: [excluded] } }),
    ...(condition !== undefined && { if: { anyOf: [condition] } }),
    ...(condition !== undefined && isAlone && Object.fromEntries([['then', { evaluates: true }]])),
    evaluates: true,
  }
}

// Of the values that are being judged.
const evaluated = new WeakMap<object, Evaluated[]>()

function note(value: unknown, by: Evaluated): void {
  if (typeof value !== 'object' || value === null) return
  const all = evaluated.get(value) ?? []
  evaluated.set(value, all)
  noteUndo(() => void all.splice(all.lastIndexOf(by), 1)) // which throws if the steps end
  all.push(by)
}

// What a schema evaluates by its own keywords, and with what it asks for, which is what schemas around it
// see.
const evaluationsOf = once((schema: Schema) => {
  const { unevaluatedProperties: _, unevaluatedItems: __, ...own } = schema
  return { own: evaluatedBy(own), whole: evaluatedBy(schema) }
})

function evaluatedBy(schema: Schema): Evaluated {
  return { property: evaluatesProperty(schema), length: evaluatedLength(schema) }
}

/** Whether a schema evaluates a property, by itself. */
export function evaluatesProperty(schema: Schema): (name: string) => boolean {
  const { additionalProperties, unevaluatedProperties = additionalProperties } = schema
  return unevaluatedProperties === undefined ? declares(schema) : () => true
}

/** Whether a schema has a property, or a pattern for its name. */
export const declares = once(({ properties = {}, patternProperties = {} }): ((name: string) => boolean) => {
  const patterns = Object.keys(patternProperties as object).map((each) => toRegExp(each, 'u'))
  return (name) => Object.hasOwn(properties as object, name) || patterns.some((each) => each.test(name))
})

/** How many items of an array a schema evaluates, by itself and without `contains`. */
export function evaluatedLength({ prefixItems = [], items, unevaluatedItems = items }: Schema): number {
  return unevaluatedItems === undefined
    ? (prefixItems as readonly unknown[]).length
    : Number.POSITIVE_INFINITY
}

function noteEvaluated(cxt: KeywordCxt): void {
  const { whole } = evaluationsOf(cxt.parentSchema)
  cxt.gen.code(call(cxt, (value: unknown) => note(value, whole), cxt.data))
}

// What has been noted since the schema itself, by those it applies to the same value.
function evaluatedIn(schema: Schema, value: object): Evaluated[] {
  const { own, whole } = evaluationsOf(schema)
  const all = evaluated.get(value) ?? []
  return [own, ...all.slice(all.lastIndexOf(whole) + 1)]
}

function otherProperties(schema: Schema, value: object): string[] {
  const by = evaluatedIn(schema, value)
  return Object.keys(value).filter((name) => !by.some(({ property }) => property(name)))
}

function otherItems(schema: Schema, value: readonly unknown[]): number[] {
  const by = evaluatedIn(schema, value)
  const others: number[] = []
  for (let i = Math.max(...by.map(({ length }) => length)); i < value.length; i++)
    if (!by.some(({ items }) => items?.has(i))) others.push(i)
  return others
}

function judgeOthers(
  cxt: KeywordCxt,
  dataPropType: Type,
  othersOf: (schema: Schema, value: never) => readonly (string | number)[],
  param: string,
): void {
  const { gen, schema, parentSchema, data, it, keyword, errsCount } = cxt
  const others = gen.const(
    'others',
    call(cxt, (value: never) => othersOf(parentSchema, value), data),
  )
  gen.forOf('other', others, (other) => {
    const isValid = gen.name('_valid')
    if (schema === false) cxt.error(false, { [param]: other })
    else cxt.subschema({ keyword, dataProp: other, dataPropType }, isValid)
    if (!it.allErrors) gen.if(schema === false || not(isValid), () => gen.break())
  })
  cxt.ok(_`${errsCount} === ${names.default.errors}`)
}

// For Ajv, which adds the errors of each item to those before it. Beside a keyword that asks for unevaluated
// items, each is looked at: `contains` evaluates those that match.
function judgeContains(cxt: KeywordCxt): void {
  const { gen, data, parentSchema, keyword } = cxt
  const { minContains: min = 1, maxContains: max, evaluates } = parentSchema
  if (evaluates !== true && min === 0 && max === undefined) return
  const matching = evaluates === true ? gen.const('matching', call(cxt, noteMatching, data)) : undefined
  const count = gen.let('count', 0)
  gen.forRange('i', 0, _`${data}.length`, (i) => {
    const isValid = gen.name('_valid')
    const how = { compositeRule: true, createErrors: false, allErrors: false } as const
    cxt.subschema({ keyword, dataProp: i, dataPropType: Type.Num, ...how }, isValid)
    cxt.reset()
    gen.if(isValid, () => {
      gen.code(_`${count}++`)
      if (matching !== undefined) gen.code(_`${matching}.add(${i})`)
      else gen.if(max === undefined ? _`${count} >= ${min}` : _`${count} > ${max}`, () => gen.break())
    })
  })
  cxt.setParams({ min, max })
  const isBelow = max === undefined ? _`` : _` && ${count} <= ${max}`
  cxt.pass(_`${count} >= ${min}${isBelow}`)
}

function noteMatching(value: readonly unknown[]): Set<number> {
  const items = new Set<number>()
  note(value, { property: () => false, length: 0, items })
  return items
}
