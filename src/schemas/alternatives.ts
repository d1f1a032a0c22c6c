// Replaces Ajv's `anyOf` and `oneOf`. With a discriminator, only the alternative it names is validated. Otherwise all are, and the error
// has the number of errors per alternative, so that messages can group them. Defaults apply only from alternatives that match.

import { _, type Ajv, type Code, type KeywordCxt, Name, type Options } from 'ajv'
import names from 'ajv/dist/compile/names.js'
import { type AnySchema, schemasIn } from '../contract/keywords.js'
import type { Schema } from '../contract/types.js'
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

// The params of its error: the number of errors before it that belong to each alternative, in order, the number of alternatives that
// passed, and the DistinguishingProperty, if any.
function validateAll(cxt: KeywordCxt, resolve: Resolve): void {
  const { gen, keyword, schema, data, it } = cxt
  const isValid = gen.name('_valid')
  const before = gen.let('before')
  const lengths = gen.let('lengths', _`[]`)
  const passing = gen.let('passing', 0)
  const match = gen.let('match')
  const validate = (i: number, holder?: Name) => {
    const copy = holder && gen.let('copy', _`${holder}.value`)
    const whole = { keyword, schemaProp: i }
    const inner =
      copy === undefined
        ? cxt.subschema({ ...whole, compositeRule: true }, isValid)
        : within(cxt, holder as Name).subschema({ ...whole, data: copy, dataTypes: [] }, isValid)
    gen.code(_`${lengths}.push(${names.default.errors} - ${before})`)
    gen.if(isValid, () => {
      gen.code(_`${passing}++`)
      cxt.mergeEvaluated(inner, Name)
      if (copy) gen.assign(match, copy)
      if (copy && keyword === 'anyOf') replaceValue(cxt, copy)
    })
  }
  for (const [i, each] of (schema as AnySchema[]).entries()) {
    gen.assign(before, names.default.errors)
    if (!it.opts.useDefaults || it.compositeRule || !changesValues(each, it.opts, resolve)) validate(i)
    else validate(i, gen.const('holder', _`{value: ${functionIn(cxt, structuredClone)}(${data})}`))
  }
  const property = distinguishingProperty(schema as Schema[], resolve)
  const distinguishing = property ? gen.scopeValue('obj', { ref: property }) : _`undefined`
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

// Ajv's modifying keywords assign to the parent of a value, so the copy gets a parent: its holder.
function within(cxt: KeywordCxt, holder: Name): KeywordCxt {
  const it = { ...cxt.it, data: holder, parentDataProperty: _`"value"` }
  return Object.assign(Object.create(cxt) as KeywordCxt, { it })
}

// Whether validating a schema may change the value: by defaults, exact numbers or coercion. Each such alternative gets a copy, and the one
// that matches replaces the value, so that an alternative that fails leaves no changes. Ajv itself ignores defaults in alternatives.
function changesValues(
  schema: AnySchema,
  options: Options,
  resolve: Resolve,
  refs = new Set<unknown>(),
): boolean {
  return schemasIn(schema).some((each) => {
    const isCoerced = options.coerceTypes === true && each.type !== undefined
    if (each.default !== undefined || each.exactNumber !== undefined || isCoerced) return true
    if (each.$ref === undefined || refs.has(each.$ref)) return false
    refs.add(each.$ref)
    return changesValues(resolve(each), options, resolve, refs)
  })
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

// The params of its error: whether the property is missing or unknown or the value is no object, the property, and its known values.
function validateNamed(cxt: KeywordCxt, { property, values }: Tags): void {
  const { gen, data, keyword } = cxt
  const isValid = gen.let('valid', false)
  const tag = gen.let('tag')
  const fail = (fault: string) => {
    const details = _`{tag: ${fault}, property: ${property}, allowed: ${gen.scopeValue('obj', { ref: values.flat() })}}`
    cxt.error(false, { alternatives: details })
  }
  gen.if(_`typeof ${data} != "object" || Array.isArray(${data})`)
  fail('no object')
  gen.elseIf(_`${data} === null`)
  if (values.some((each) => each.length === 0)) gen.assign(isValid, true)
  else fail('no object')
  gen.else()
  gen.assign(tag, _`${data}[${property}]`)
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

// Undefined if a value maps to several alternatives or an alternative has no value: then all alternatives are validated.
function tagsOf({ discriminator }: Schema, schemas: readonly Schema[], resolve: Resolve): Tags | undefined {
  const { propertyName, branches, mapping = {} } = (discriminator ?? {}) as Discriminator
  if (propertyName === undefined || branches === undefined) return undefined
  const mapped = branches.flatMap((branch) => branch.mapped)
  const lost = Object.keys(mapping).find((value) => !mapped.includes(value))
  if (lost !== undefined)
    throw new Error(
      `the discriminator ${propertyName} maps ${lost} to ${mapping[lost]}, which is not one of its alternatives`,
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
  if (own?.every((each) => typeof each === 'string')) return own as string[]
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

// The values a schema allows for a property, by itself and its `allOf`, since other parts of it may not apply; undefined for any.
function allowedValues(schema: Schema, property: string, resolve: Resolve): readonly unknown[] | undefined {
  const given = (schema.properties as Record<string, Schema> | undefined)?.[property]
  const own = given && resolve(given)
  if (own?.const !== undefined) return [own.const]
  if (Array.isArray(own?.enum)) return own.enum
  const parts = (schema.allOf as Schema[] | undefined) ?? []
  return parts
    .map((part) => allowedValues(resolve(part), property, resolve))
    .find((each) => each !== undefined)
}
