// What of a schema decides how its values are written as JSON.

import type { Schema } from '../../document/contract.js'
import { type AnySchema, extendedBy, isNode } from '../../document/keywords.js'
import type { Reader } from '../../document/reader.js'

export interface Written {
  readonly type: 'array' | 'boolean' | 'integer' | 'number' | 'object' | 'string'
  readonly isNullable: boolean
  /** The schema that has the type. */
  readonly typed: Schema
  /** With those that it extends. */
  readonly parts: readonly [Schema, ...Schema[]]
}

/** Undefined of a schema that does not tell of which type a value is. */
export function writtenAs(schema: AnySchema, reader: Reader): Written | undefined {
  if (!isNode(schema)) return undefined
  const parts = [...extendedBy<Schema>(schema, (each) => reader.node(each))]
  const typed = parts.find(({ type }) => type !== undefined)
  const types = [typed?.type ?? []].flat() as (Written['type'] | 'null')[] // it compiles
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
 * The fields of an object, the required ones first: those of all schemas that describe it. Closed by one of
 * them, it has no others than that one's.
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
 * The code of a field's value. What an object inherits under a name such as `constructor` is no field of it.
 */
export function fieldCode(object: string, { key, isRequired }: Field): string {
  const name = JSON.stringify(key)
  const isInherited = !isRequired && key in Object.prototype
  return isInherited
    ? `(Object.hasOwn(${object},${name})?${object}[${name}]:undefined)`
    : `${object}[${name}]`
}

/**
 * Code that returns unless an object is written by its fields: it inherits none, and is no other value in
 * JSON.
 */
export function unlessPlain(object: string, returned: string): string {
  return `const p=Object.getPrototypeOf(${object})
if((p!==Object.prototype&&p!==null)||typeof ${object}.toJSON==='function')return ${returned}
`
}
