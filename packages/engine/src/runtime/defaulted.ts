// Properties with a default: an absent one gets it once the value is valid. If such a property is also
// required, its default excuses that it is absent: nothing else that is judged takes it for sent.

import type { ValidateFunction } from 'ajv'
import type { Schema } from '../document/contract.js'
import { type AnySchema, schemasIn } from '../document/keywords.js'
import { noteAbsent, type Property } from './changes.js'

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
