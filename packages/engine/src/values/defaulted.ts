// Properties with a default: an absent one gets it once the value is valid. If such a property is also
// required, its default excuses that it is absent: nothing else that is judged takes it for sent.

import type { ValidateFunction } from 'ajv'
import type { Schema } from '../document/contract.js'
import { type AnySchema, extendedBy, mapSubschemas, schemasIn } from '../document/keywords.js'
import { noteAbsent, type Property } from './changes.js'
import type { Resolve } from './references.js'

/** The properties of schemas that one compiler compiles, and how it compiles another one. */
export interface Defaulting {
  /** The names of those that have a default in any of them. */
  readonly defaulted: Set<string>
  readonly compile: (schema: Schema) => ValidateFunction
}

/**
 * Returns a function that notes the properties that an object lacks and that may get a default. One without a
 * default matters only if another schema has one for its name, maybe one compiled later.
 */
export function createNote(properties: Properties, { defaulted, compile }: Defaulting) {
  const changed = changedIn(properties).map(([name, schema]): Property => {
    const change = isChanging(schema) ? changeBy(schema, compile) : undefined
    return { name, default: schema.default, change }
  })
  for (const each of changed) if (each.default !== undefined) defaulted.add(each.name)
  let [known, relevant]: [number, readonly Property[]] = [0, changed]
  return (object: Record<string, unknown>) => {
    if (known !== defaulted.size) relevant = changed.filter(({ name }) => defaulted.has(name))
    known = defaulted.size
    if (known > 0 && relevant.length > 0) noteAbsent(object, relevant)
  }
}

type Properties = Readonly<Record<string, AnySchema>>

/** The properties that have a default, or whose schema would change one that another schema has. */
export function changedIn(properties: Properties): [name: string, schema: Schema][] {
  return Object.entries(properties).flatMap(([name, schema]): [string, Schema][] => {
    if (typeof schema === 'boolean') return []
    return schema.default !== undefined || isChanging(schema) ? [[name, schema]] : []
  })
}

/** Whether a schema may change a value. */
export function isChanging(schema: Schema): boolean {
  return schemasIn(schema).some((each) =>
    ['$ref', 'properties', 'exactNumber'].some((keyword) => each[keyword] !== undefined),
  )
}

// Compiled when it is needed first: a schema may contain itself.
function changeBy(schema: Schema, compile: Defaulting['compile']): Property['change'] {
  let validate: ValidateFunction | undefined
  return (object, name) => {
    validate ??= compile(inHolder(schema))
    const holder = { value: object[name] }
    validate(holder)
    object[name] = holder.value
  }
}

/** The schema of what holds a value, in which the value is changed. */
export function inHolder(schema: Schema): Schema {
  return { properties: { value: schema } }
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
