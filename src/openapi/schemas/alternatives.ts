// Replaces Ajv's `anyOf` and `oneOf`. With a discriminator, only the alternative it names is validated.
// Otherwise all are, and the error has the number of errors per alternative, so that messages can group them.
// Defaults apply only from alternatives that match.

import { _, type Ajv, type Code, KeywordCxt, Name, type Options } from 'ajv'
import names from 'ajv/dist/compile/names.js'
import type { Schema } from '../contract/contract.js'
import { type AnySchema, extendedBy, schemasIn } from '../contract/keywords.js'
import type { Resolve } from './references.js'

/** A property for which each alternative allows different values. */
export interface DistinguishingProperty {
  readonly property: string
  readonly values: readonly unknown[]
}

/** Adds both keywords to an Ajv. */
export function addAlternatives(ajv: Ajv): void {
  for (const keyword of ['anyOf', 'oneOf']) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      schemaType: 'array',
      trackErrors: true,
      code: (cxt) => {
        const resolve = resolveIn(cxt.it.self)
        const tags = tagsOf(cxt.parentSchema, cxt.schema as Schema[], resolve)
        if (tags === undefined) validateAll(cxt, resolve)
        else validateNamed(cxt, tags)
      },
      error: {
        message:
          keyword === 'anyOf' ? 'must match a schema in anyOf' : 'must match exactly one schema in oneOf',
        params: ({ params }) => params.alternatives as Code,
      },
    })
  }
}

// The params of its error: the number of errors before it that belong to each alternative, in order, the
// number of alternatives that passed, and the DistinguishingProperty, if any.
function validateAll(cxt: KeywordCxt, resolve: Resolve): void {
  const { gen, keyword, schema, it } = cxt
  const tally: Tally = {
    before: gen.let('before'),
    lengths: gen.let('lengths', _`[]`),
    passing: gen.let('passing', 0),
    match: gen.let('match'),
  }
  for (const [i, each] of (schema as AnySchema[]).entries()) {
    const isChanging = it.opts.useDefaults && !it.compositeRule && changesValues(each, it.opts, resolve)
    validateOne(cxt, i, isChanging === true, tally)
  }
  const property = distinguishingProperty(schema as Schema[], resolve)
  const distinguishing = property ? gen.scopeValue('obj', { ref: property }) : _`undefined`
  const { lengths, passing, match } = tally
  cxt.setParams({
    alternatives: _`{lengths: ${lengths}, passing: ${passing}, distinguishing: ${distinguishing}}`,
  })
  cxt.result(
    keyword === 'oneOf' ? _`${passing} === 1` : _`${passing} > 0`,
    () => {
      if (keyword === 'oneOf') gen.if(_`${match} !== undefined`, () => replaceValue(cxt, match))
      cxt.reset()
    },
    () => cxt.error(true),
  )
}

type Tally = Readonly<Record<'before' | 'lengths' | 'passing' | 'match', Name>>

// An alternative that may change the value validates a copy.
function validateOne(cxt: KeywordCxt, i: number, isChanging: boolean, tally: Tally): void {
  const { gen, keyword } = cxt
  const isValid = gen.name('_valid')
  gen.assign(tally.before, names.default.errors)
  const copy = isChanging ? gen.let('copy') : undefined
  const inner = copy
    ? contextOfCopy(cxt, copy).subschema({ keyword, schemaProp: i, data: copy, dataTypes: [] }, isValid)
    : cxt.subschema({ keyword, schemaProp: i, compositeRule: true }, isValid)
  gen.code(_`${tally.lengths}.push(${names.default.errors} - ${tally.before})`)
  gen.if(isValid, () => {
    gen.code(_`${tally.passing}++`)
    cxt.mergeEvaluated(inner, Name)
    if (copy) gen.assign(tally.match, copy)
    if (copy && keyword === 'anyOf') replaceValue(cxt, copy)
  })
}

// Ajv's modifying keywords assign to the parent of a value, so the copy gets a parent: its holder.
function contextOfCopy(cxt: KeywordCxt, copy: Name): KeywordCxt {
  const { gen, data, it, def, keyword } = cxt
  const holder = gen.const('holder', _`{value: ${functionIn(cxt, structuredClone)}(${data})}`)
  gen.assign(copy, _`${holder}.value`)
  return new KeywordCxt({ ...it, data: holder, parentDataProperty: _`"value"` }, def, keyword)
}

// Whether validating a schema may change the value: by defaults, exact numbers or coercion. Each such
// alternative gets a copy, and the one that matches replaces the value, so that an alternative that fails
// leaves no changes. Ajv itself ignores defaults in alternatives.
function changesValues(schema: AnySchema, options: Options, resolve: Resolve): boolean {
  const reached = new Set([schema]) // a Set iterates over what is added meanwhile, too
  for (const one of reached) {
    for (const each of schemasIn(one)) {
      const isCoerced = options.coerceTypes === true && each.type !== undefined
      if (each.default !== undefined || each.exactNumber !== undefined || isCoerced) return true
      if (each.$ref !== undefined) reached.add(resolve(each))
    }
  }
  return false
}

function replaceValue(cxt: KeywordCxt, value: Name): void {
  const { gen, data, it } = cxt
  gen.if(
    _`typeof ${data} == "object" && ${data} !== null`,
    () => gen.code(_`${functionIn(cxt, assignOwn)}(${data}, ${value})`),
    () => {
      gen.assign(data, value)
      gen.if(_`${it.parentData} !== undefined`, () =>
        gen.assign(_`${it.parentData}[${it.parentDataProperty}]`, value),
      )
    },
  )
}

function assignOwn(value: object, copy: object): void {
  Object.defineProperties(value, Object.getOwnPropertyDescriptors(copy))
}

function functionIn({ gen }: KeywordCxt, ref: unknown): Name {
  return gen.scopeValue('func', { ref })
}

interface Tags {
  readonly property: string
  /** Per alternative; empty for `type: null`. */
  readonly values: readonly (readonly string[])[]
}

// The params of its error: whether the property is missing or unknown or the value is no object, the
// property, and its known values.
function validateNamed(cxt: KeywordCxt, { property, values }: Tags): void {
  const { gen, data, keyword } = cxt
  const isValid = gen.let('valid', false)
  const fail = (fault: string) => {
    const allowed = gen.scopeValue('obj', { ref: values.flat() })
    cxt.error(false, { alternatives: _`{tag: ${fault}, property: ${property}, allowed: ${allowed}}` })
  }
  gen.if(_`typeof ${data} != "object" || Array.isArray(${data})`)
  fail('no object')
  gen.elseIf(_`${data} === null`)
  if (values.some((each) => each.length === 0)) gen.assign(isValid, true)
  else fail('no object')
  gen.else()
  const tag = tagIn(cxt, property)
  gen.if(_`${tag} === undefined`)
  fail('missing')
  for (const [i, each] of values.entries()) {
    if (each.length === 0) continue
    gen.elseIf(each.map((value) => _`${tag} === ${value}`).reduce((all, one) => _`${all} || ${one}`))
    const ofBranch = gen.name('_valid')
    cxt.mergeEvaluated(cxt.subschema({ keyword, schemaProp: i }, ofBranch), Name)
    gen.assign(isValid, ofBranch)
  }
  gen.else()
  fail('unknown')
  gen.endIf()
  gen.endIf()
  cxt.ok(isValid)
}

// Numbers and booleans by their text, as in a mapping; the alternative checks their type.
function tagIn({ gen, data }: KeywordCxt, property: string): Name {
  const tag = gen.let('tag', _`${data}[${property}]`)
  gen.if(_`typeof ${tag} == "number" || typeof ${tag} == "bigint" || typeof ${tag} == "boolean"`, () =>
    gen.assign(tag, _`String(${tag})`),
  )
  return tag
}

// Undefined if a value maps to several alternatives or an alternative has no value: then all are validated.
function tagsOf({ discriminator }: Schema, schemas: readonly Schema[], resolve: Resolve): Tags | undefined {
  const { propertyName, branches, mapping = {} } = (discriminator ?? {}) as Discriminator
  if (propertyName === undefined || branches === undefined) return undefined
  const mapped = branches.flatMap((branch) => branch.mapped)
  const lost = Object.keys(mapping).find((value) => !mapped.includes(value))
  if (lost !== undefined)
    throw new Error(
      `the discriminator ${propertyName} maps ${lost} to ${mapping[lost]}, ` +
        'which is not one of its alternatives',
    )
  const values = schemas.map((schema, i) => valuesOf(resolve(schema), propertyName, branches[i], resolve))
  const all = values.flatMap((each) => each ?? [])
  const isSure = new Set(all).size === all.length && values.every((each) => each !== undefined)
  return isSure && all.length > 0 ? { property: propertyName, values: values as string[][] } : undefined
}

interface Discriminator {
  readonly propertyName?: string
  readonly branches?: readonly Branch[]
  readonly mapping?: Readonly<Record<string, string>>
}

interface Branch {
  readonly mapped: readonly string[]
  readonly name?: string
}

// From the discriminator's mapping, from the property's enum or const, or else the schema's name.
function valuesOf(
  schema: Schema,
  property: string,
  branch: Branch | undefined,
  resolve: Resolve,
): readonly string[] | undefined {
  if (schema.type === 'null') return []
  if (branch !== undefined && branch.mapped.length > 0) return branch.mapped
  const own = allowedValues(schema, property, resolve)
  if (own !== undefined) return own.filter((each) => each !== null).map(String)
  return branch?.name === undefined ? undefined : [branch.name]
}

/** Resolves a schema's `$ref` among the schemas added to an Ajv. */
export function resolveIn(ajv: Ajv): Resolve {
  const resolve: Resolve = (schema) => {
    const target = typeof schema.$ref === 'string' ? ajv.schemas[schema.$ref]?.schema : undefined
    return typeof target === 'object' ? resolve(target as Schema) : schema
  }
  return resolve
}

// The property a discriminator would name.
function distinguishingProperty(
  schemas: readonly Schema[],
  resolve: Resolve,
): DistinguishingProperty | undefined {
  const all = schemas.map(resolve).filter(isOfObjects)
  const names = all.flatMap((schema) => Object.keys((schema.properties as object | undefined) ?? {}))
  for (const property of new Set(names)) {
    const values = all.map((schema) => allowedValues(schema, property, resolve))
    const flat = values.flatMap((each) => each ?? [])
    if (values.every((each) => each !== undefined) && new Set(flat).size === flat.length)
      return { property, values: flat }
  }
  return undefined
}

function isOfObjects({ type, exactNumber }: Schema): boolean {
  return type === undefined ? exactNumber === undefined : [type].flat().includes('object')
}

// The values a schema allows for a property, by itself and its `allOf`: other parts of it may not apply.
// Undefined for any.
function allowedValues(schema: Schema, property: string, resolve: Resolve): readonly unknown[] | undefined {
  for (const { properties } of extendedBy(schema, resolve)) {
    const given = (properties as Record<string, Schema> | undefined)?.[property]
    const own = given && resolve(given)
    if (own?.const !== undefined) return [own.const]
    if (Array.isArray(own?.enum)) return own.enum
  }
  return undefined
}
