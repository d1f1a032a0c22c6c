// Properties with a default: an absent one gets its default once the value is valid. If it is also required,
// the default excuses its absence; for all other keywords it stays absent.

import type { ValidateFunction } from 'ajv'
import type { Schema } from '../document/contract.js'
import { type AnySchema, schemasIn } from '../document/keywords.js'
import { noteAbsent, type Property } from './changes.js'

/** What the functions of one compiler share. */
export interface Defaulting {
  /** The names of all properties that have a default in any of its schemas. */
  readonly defaulted: Set<string>
  readonly compile: (schema: Schema) => ValidateFunction
}

/**
 * Returns a function that notes the properties which an object lacks and which may get a default. A property
 * without a default matters only if another schema, perhaps one compiled later, has a default for its name.
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

/** Returns the properties that have a default, or whose schema would change a default from another schema. */
export function changedIn(properties: Properties): [name: string, schema: Schema][] {
  return Object.entries(properties).flatMap(([name, schema]): [string, Schema][] => {
    if (typeof schema === 'boolean') return []
    return schema.default !== undefined || isChanging(schema) ? [[name, schema]] : []
  })
}

/** True if a schema may change a value. */
export function isChanging(schema: Schema): boolean {
  return schemasIn(schema).some((each) =>
    ['$ref', 'properties', 'exactNumber'].some((keyword) => each[keyword] !== undefined),
  )
}

// Compiles the schema when it is first needed, because a schema may contain itself.
function changeBy(schema: Schema, compile: Defaulting['compile']): Property['change'] {
  let validate: ValidateFunction | undefined
  return (object, name) => {
    validate ??= compile(inHolder(schema))
    const holder = { value: object[name] }
    validate(holder)
    object[name] = holder.value
  }
}

/** Returns the schema of an object that holds a value. A validator changes a value within such an object. */
export function inHolder(schema: Schema): Schema {
  return { properties: { value: schema } }
}
