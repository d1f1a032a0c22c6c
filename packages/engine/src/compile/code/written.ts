// Reads from a schema what decides how its values are written as JSON.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, extendedBy, isNode } from '../../document/keywords.js'
import type { Reader } from '../../document/reader.js'

export interface Written {
  readonly type: 'array' | 'boolean' | 'integer' | 'number' | 'object' | 'string'
  readonly isNullable: boolean
  /** The schema that has the `type`. */
  readonly typed: Schema
  /** The schema, and those that it extends. */
  readonly parts: readonly [Schema, ...Schema[]]
}

/** Returns undefined if the schema does not tell the type of its values. */
export function writtenAs(schema: AnySchema, reader: Reader): Written | undefined {
  if (!isNode(schema)) return undefined
  const parts = [...extendedBy<Schema>(schema, (each) => reader.node(each))]
  const typed = parts.find(({ type }) => type !== undefined)
  // its type is valid, because the schema compiles
  const types = [typed?.type ?? []].flat() as (Written['type'] | 'null')[]
  const [type, ...more] = types.filter((each) => each !== 'null')
  if (typed === undefined || type === undefined || more.length > 0) return undefined
  return { type, isNullable: types.includes('null'), typed, parts: parts as [Schema, ...Schema[]] }
}

export interface Field {
  readonly key: string
  readonly schema: AnySchema
  readonly isRequired: boolean
}

/**
 * Returns the fields that all parts of the schema declare, required ones first. If one part is closed, an
 * object has no other fields.
 */
export function fieldsOf({ parts }: Written): {
  readonly fields: readonly Field[]
  readonly isClosed: boolean
} {
  const required = new Set(parts.flatMap((each) => (each.required ?? []) as readonly string[]))
  const properties = parts.flatMap((each) => Object.entries((each.properties ?? {}) as Properties))
  const fields = [...new Map(properties)].map(([key, schema]) => {
    return { key, schema, isRequired: required.has(key) }
  })
  return {
    fields: [...fields.filter((each) => each.isRequired), ...fields.filter((each) => !each.isRequired)],
    isClosed: parts.some((each) => each.additionalProperties === false && !('patternProperties' in each)),
  }
}

type Properties = Readonly<Record<string, AnySchema>>

/**
 * Returns the code of a field's value. A value that an object inherits under a name such as `constructor` is
 * no field.
 */
export function fieldCode(object: string, { key, isRequired }: Field): string {
  const name = JSON.stringify(key)
  const isInherited = !isRequired && key in Object.prototype
  return isInherited
    ? `(Object.hasOwn(${object},${name})?${object}[${name}]:undefined)`
    : `${object}[${name}]`
}

/**
 * Returns code that leaves the function unless the object can be written by its fields: its prototype is that
 * of plain objects or null, and it has no `toJSON`.
 */
export function unlessPlain(object: string, returned: string): string {
  return `const p=Object.getPrototypeOf(${object})
if((p!==Object.prototype&&p!==null)||typeof ${object}.toJSON==='function')return ${returned}
`
}
