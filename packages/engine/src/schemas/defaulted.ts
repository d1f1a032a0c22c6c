// Properties with a default: an absent one gets it once the value is valid. If such a property is also
// required, its default excuses that it is absent: nothing else that is judged takes it for sent.

import type { Ajv, CodeKeywordDefinition } from 'ajv'
import properties from 'ajv/dist/vocabularies/applicator/properties.js'
import type { Schema } from '../contract/contract.js'
import { type AnySchema, extendedBy, mapSubschemas, schemasIn } from '../contract/keywords.js'
import { noteAbsent, noteExcuse, type Property } from './changes.js'
import { call } from './generated-code.js'
import type { Resolve } from './references.js'

/** Makes an Ajv note what defaults are to fill in, and adds the `excused` keyword to it. */
export function addDefaults(ajv: Ajv): void {
  const { code, ...own } = properties.default as CodeKeywordDefinition
  const defaulted = new Set<string>()
  ajv.removeKeyword('properties')
  ajv.addKeyword({
    ...own,
    before: 'patternProperties',
    code: (cxt) => {
      const entries = Object.entries(cxt.schema as Record<string, AnySchema>)
      const changed = entries.flatMap((each) => propertyOf(each, ajv))
      for (const each of changed) if (each.default !== undefined) defaulted.add(each.name)
      if (changed.length > 0) cxt.gen.code(call(cxt, createNote(changed, defaulted), cxt.data))
      code(cxt)
    },
  })
  ajv.addKeyword({
    keyword: 'excused',
    type: 'object',
    schemaType: 'array',
    errors: false,
    compile: (names: string[]) => (object) => {
      noteExcuse(object, names)
      return true
    },
  })
}

// A property without a default matters only if another schema has one for its name, maybe one compiled later.
function createNote(changed: readonly Property[], defaulted: ReadonlySet<string>) {
  let [known, relevant] = [0, changed]
  return (object: Record<string, unknown>) => {
    if (known !== defaulted.size) relevant = changed.filter(({ name }) => defaulted.has(name))
    known = defaulted.size
    if (known > 0 && relevant.length > 0) noteAbsent(object, relevant)
  }
}

function propertyOf([name, schema]: [name: string, schema: AnySchema], ajv: Ajv): Property[] {
  if (typeof schema === 'boolean') return []
  const isChanging = schemasIn(schema).some((each) =>
    ['$ref', 'properties', 'exactNumber'].some((keyword) => each[keyword] !== undefined),
  )
  if (schema.default === undefined && !isChanging) return []
  return [{ name, default: schema.default, change: isChanging ? changeBy(schema, ajv) : undefined }]
}

// Compiled when it is needed first: a schema may contain itself.
function changeBy(schema: Schema, ajv: Ajv): Property['change'] {
  let validate: ReturnType<Ajv['compile']> | undefined
  return (object, name) => {
    validate ??= ajv.compile({ properties: { value: schema } })
    const holder = { value: object[name] }
    validate(holder)
    object[name] = holder.value
  }
}

/**
 * A schema in which `required` lists no property with a default of the same schema or of its `allOf`, at any
 * depth: `excused` lists them.
 */
export function withExcuses<Each extends AnySchema>(schema: Each, resolve: Resolve): Each
export function withExcuses(schema: AnySchema, resolve: Resolve): AnySchema {
  return typeof schema === 'object' ? excusing(schema, new Set(), resolve) : schema
}

function excusing(schema: Schema, around: ReadonlySet<string>, resolve: Resolve): Schema {
  const names = new Set([...around, ...defaultedNames(schema, resolve)])
  const inner = mapSubschemas(schema, ({ keyword, schema: each }) => {
    if (keyword !== 'allOf') return excusing(each, new Set(), resolve)
    const isExcused = [...extendedBy(each, resolve)].some((part) =>
      requiredIn(part).some((name) => names.has(name)),
    )
    return isExcused ? excusing(resolve(each), names, resolve) : excusing(each, new Set(), resolve)
  })
  const required = requiredIn(schema)
  const excused = required.filter((name) => names.has(name))
  if (excused.length === 0) return inner
  return { ...inner, required: required.filter((name) => !names.has(name)), excused }
}

function requiredIn({ required }: Schema): readonly string[] {
  return Array.isArray(required) ? required : []
}

function defaultedNames(schema: Schema, resolve: Resolve): string[] {
  const parts = [...extendedBy(schema, resolve)]
  const all = parts.flatMap((part) => Object.entries((part.properties ?? {}) as Record<string, AnySchema>))
  return all
    .filter(([, each]) => typeof each === 'object' && resolve(each).default !== undefined)
    .map(([name]) => name)
}
