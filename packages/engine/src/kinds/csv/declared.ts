// Responses in CSV (RFC 4180): an array or a stream of flat objects, with a row for each object and a column
// for each property.

import { allowedTypes, ofArrays } from '../../document/allowed-types.js'
import type { Content, Schema } from '../../document/contract.js'
import { type AnySchema, isNode, schemasOfValue, subschemasBy } from '../../document/keywords.js'
import { essence, isUtf8 } from '../../document/media-types.js'
import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { type DeclaredKind, schemaOf } from '../declared-kind.js'

export const csv: DeclaredKind = {
  read(reader, declared, use) {
    const { place, mediaType, media } = declared
    if (!isCsv(mediaType) || use === 'request') return undefined
    const columns = columnsOf(schemaOf(reader, declared) ?? {})
    if (columns === undefined) return undefined
    const problem = typeof columns === 'string' ? columns : charsetProblem(mediaType)
    if (typeof columns === 'string' || problem !== undefined)
      return [`${place} ${mediaType} cannot be written as CSV: ${problem}`]
    reader.checkRefs(media.schema)
    return { mediaType, kind: 'csv', schema: media.schema as Schema, columns }
  },
  type: (_, value) => value,
}

/** True if a media type is CSV. */
export function isCsv(mediaType: string): boolean {
  return essence(mediaType) === 'text/csv'
}

/** Reads a stream of CSV rows: returns its columns, or why they cannot be written. */
export function readRows(
  reader: Reader,
  mediaType: string,
  schema: AnySchema,
): Pick<Content, 'framing' | 'schema' | 'columns'> | string {
  const columns = columnsOfItems([nodeOf(reader.dereferenced(schema))])
  const problem = typeof columns === 'string' ? columns : charsetProblem(mediaType)
  if (typeof columns === 'string' || problem !== undefined) return `cannot be written as CSV: ${problem}`
  reader.checkRefs(schema)
  return { framing: 'rows', schema, columns }
}

/**
 * Returns a Media Type Object with the schema of all rows in place of the schema of a row: to readers, both
 * mean the same.
 */
export function withSchemaOfRows(mediaType: string, media: unknown): unknown {
  const { itemSchema, ...others } = nodeOf(media)
  if (!isCsv(mediaType) || itemSchema === undefined || others.schema !== undefined) return media
  return { ...others, schema: { type: 'array', items: itemSchema } }
}

function charsetProblem(mediaType: string): string | undefined {
  return isUtf8(mediaType) ? undefined : 'it is sent in UTF-8'
}

const scalars = ['string', 'integer', 'number', 'boolean', 'null']
// Keywords for fields that have no column.
const otherKeywords = ['patternProperties', 'additionalProperties', 'unevaluatedProperties']

// Returns the columns of a dereferenced schema, in the order of its properties, or why the schema is no
// table; undefined if it is not of arrays.
function columnsOf(schema: Node): readonly string[] | string | undefined {
  if (allowedTypes(schema)?.join() !== 'array') return undefined
  const items = subschemasBy(schemasOfValue(schema), ofArrays)
  if (items.length === 0 || items.some(({ keyword }) => keyword !== 'items'))
    return 'the array must describe all its items by items'
  return columnsOfItems(items.map(({ schema }) => schema))
}

// Returns the columns of items. All of these schemas describe each item.
function columnsOfItems(schemas: readonly Node[]): readonly string[] | string {
  const parts = schemas.flatMap(schemasOfValue)
  if (!schemas.some((each) => allowedTypes(each)?.join() === 'object'))
    return 'the items must have type: object'
  const [other] = subschemasBy(parts, otherKeywords)
  if (other !== undefined) return `the fields of ${other.keyword} have no column`
  return columnsIn(parts)
}

function columnsIn(parts: readonly Node[]): readonly string[] | string {
  const columns = new Set<string>()
  for (const { properties } of parts) {
    for (const [name, field] of Object.entries(nodeOf(properties)) as [string, AnySchema][]) {
      if (field === false || nodeOf(field).writeOnly === true) continue
      const types = isNode(field) ? allowedTypes(field) : undefined
      if (types === undefined || !types.every((type) => scalars.includes(type)))
        return `the field ${name} may be an array or an object, which a column cannot hold`
      columns.add(name)
    }
  }
  return columns.size > 0 ? [...columns] : 'the items declare no properties'
}
