// Binary data, which the contract declares as strings: files in forms, and bodies that are not text. Only its
// length is validated, in bytes (OpenAPI 3.1.1, section 4.4.2).

import { Readable } from 'node:stream'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, mapSchemas, mapSubschemas } from '../../document/keywords.js'
import { nodeOf, type Reader } from '../../document/reader.js'

interface Rules {
  readonly minLength?: number
  readonly maxLength?: number
}

/** What is wrong with bytes; undefined if nothing is. */
export function problemWithBytes(
  data: unknown,
  { minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Rules,
): string | undefined {
  if (data instanceof Readable) return undefined // request/upload.ts counts its bytes
  if (typeof data !== 'string' && !(data instanceof Uint8Array)) return 'must be bytes'
  const length = Buffer.byteLength(data)
  if (length < minLength) return `must have at least ${minLength} bytes`
  return length > maxLength ? `must have at most ${maxLength} bytes` : undefined
}

/** A schema with `bytes` instead of `type: string`, also in its items and alternatives. */
export function withBytes<Each extends AnySchema>(schema: Each): Each {
  return mapSchemas(schema, (each) => {
    const { type = 'string', minLength, maxLength, ...others } = each
    if (![type].flat().includes('string') || ['items', 'anyOf', 'oneOf'].some((key) => key in each))
      return each
    return {
      ...others,
      bytes: { ...(minLength !== undefined && { minLength }), ...(maxLength !== undefined && { maxLength }) },
    }
  })
}

/**
 * The schema of a form with `bytes` in the fields that are files; the subschemas that may declare fields are
 * dereferenced.
 */
export function withFiles(
  reader: Reader,
  given: Schema,
  isFile: (name: string) => boolean,
  around: readonly Schema[] = [],
): Schema {
  const schema = reader.node(given)
  if (around.includes(schema)) return given
  return mapSubschemas(schema, ({ keyword, name = '', appliesTo, schema: each }) => {
    if (appliesTo === 'value') return withFiles(reader, each, isFile, [...around, schema])
    return keyword === 'properties' && isFile(name) ? withBytes(reader.dereferenced(each) as Schema) : each
  })
}

/** The schema of a form without the fields that are files, as it and its `allOf` declare them. */
export function withoutFiles(reader: Reader, given: Schema, isFile: (name: string) => boolean): Schema {
  const { properties, required, ...others } = reader.node(given)
  const kept = Object.entries(nodeOf(properties)).filter(([name]) => !isFile(name))
  const schema = {
    ...others,
    ...(properties !== undefined && { properties: Object.fromEntries(kept) }),
    ...(Array.isArray(required) && { required: required.filter((name) => !isFile(name)) }),
  }
  return mapSubschemas(schema, ({ keyword, schema: each }) =>
    keyword === 'allOf' ? withoutFiles(reader, each, isFile) : each,
  )
}
