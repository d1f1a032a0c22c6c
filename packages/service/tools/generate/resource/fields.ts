// Reads the fields of a resource: what the contract says about each, and the column that stores it.

import { filledNames } from 'contract-engine/generate'
import { type AnySchema, type Node, nodeOf, type Reader } from 'contract-engine/tools'
import { type ColumnType, columnTypeOf } from './column-types.js'
import { snakeCase } from './words.js'

/** A field of a resource. */
export interface ResourceField {
  readonly name: string
  /** The name of the column. */
  readonly column: string
  readonly schema: Node
  readonly type: ColumnType
  /** Defined if rows show the field: always, or sometimes. */
  readonly shown: Presence | undefined
  /** Defined if a new row takes the field: always, or sometimes. */
  readonly taken: Presence | undefined
  /** True if the service fills the field in when a client does not send it. */
  readonly isFilled: boolean
  readonly isNullable: boolean
  /** `x-unique`: true, or the code of the error for a duplicate. */
  readonly unique: string | true | undefined
  /** `x-references`: the table and the column that the field refers to. */
  readonly references: Reference | undefined
}

export type Presence = 'always' | 'sometimes'

export interface Reference {
  readonly table: string
  readonly column: string
  /** The code of the error if the referenced row does not exist. */
  readonly code: string | undefined
}

/**
 * Returns the fields of a resource, in the order of the contract.
 * @param shown the schema of a row in a response
 * @param taken the schema of a new row in a request; undefined if no operation adds one
 */
export function fieldsOf(reader: Reader, shown: unknown, taken: unknown): ResourceField[] {
  const filled = new Set(filledNames(reader, taken as AnySchema | undefined)) // a schema of the document
  const [ofShown, ofTaken] = [declaredIn(reader, shown), declaredIn(reader, taken)]
  return [...new Set([...ofShown.keys(), ...ofTaken.keys()])].map((name) => {
    const [of, given] = [ofShown.get(name), ofTaken.get(name)]
    const isFilled = filled.has(name)
    const schema = { ...given?.schema, ...of?.schema } // an extension may be in either
    return {
      name,
      column: snakeCase(name),
      schema,
      type: columnTypeOf(reader, schema),
      shown: of && (of.schema.writeOnly === true ? undefined : presenceOf(of.isRequired)),
      taken: given && (given.schema.readOnly === true ? undefined : presenceOf(given.isRequired || isFilled)),
      isFilled,
      isNullable: isNullable(reader, schema),
      unique: uniqueOf(schema['x-unique']),
      references: referenceOf(schema['x-references']),
    }
  })
}

/** True if the column has a value in every row. */
export function isAlways({ shown, taken, isNullable }: ResourceField): boolean {
  return (shown ?? taken) === 'always' && !isNullable
}

/** Returns the names of the fields that a schema declares, including those of `allOf`. */
export function namesIn(reader: Reader, schema: unknown): string[] {
  return [...declaredIn(reader, schema).keys()]
}

interface Declared {
  readonly schema: Node
  readonly isRequired: boolean
}

function declaredIn(reader: Reader, given: unknown): ReadonlyMap<string, Declared> {
  const parts = partsOf(reader, given)
  const required = new Set(parts.flatMap((each) => each.required ?? []))
  const fields = parts.flatMap((each) => Object.entries(nodeOf(each.properties)))
  return new Map(
    fields.map(([name, each]) => [name, { schema: reader.node(each), isRequired: required.has(name) }]),
  )
}

function partsOf(reader: Reader, given: unknown): readonly Node[] {
  const schema = reader.node(given)
  const { allOf } = schema
  return [schema, ...(Array.isArray(allOf) ? allOf.flatMap((each) => partsOf(reader, each)) : [])]
}

function presenceOf(isAlways: boolean): Presence {
  return isAlways ? 'always' : 'sometimes'
}

function isNullable(reader: Reader, { type, nullable, enum: values, anyOf, oneOf }: Node): boolean {
  const others = [anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each : []))
  const isNull = (each: unknown) => [reader.node(each).type].flat().includes('null')
  const allows = nullable === true || [type].flat().includes('null') || others.some(isNull)
  return allows && (!Array.isArray(values) || values.includes(null))
}

function uniqueOf(value: unknown): string | true | undefined {
  return value === true || typeof value === 'string' ? value : undefined
}

// Reads `shops`, or `{ table: shops, column: id, code: unknown_shop }`.
function referenceOf(value: unknown): Reference | undefined {
  if (typeof value === 'string') return { table: value, column: 'id', code: undefined }
  const { table, column = 'id', code } = nodeOf(value)
  if (typeof table !== 'string') return undefined
  return { table, column: String(column), code: typeof code === 'string' ? code : undefined }
}
