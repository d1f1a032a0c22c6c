// A response in CSV (RFC 4180): an array of flat objects, a row for each, and a column for each of their
// properties.

import { typesOf } from '../../document/allowed-types.js'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, isNode, partsOf, type Subschema, subschemasOf } from '../../document/keywords.js'
import { essence, isUtf8 } from '../../document/media-types.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { type DeclaredKind, schemaOf } from './kind.js'

export const csv: DeclaredKind = {
  read(reader, declared, use) {
    const { place, mediaType, media } = declared
    if (essence(mediaType) !== 'text/csv' || use === 'request') return undefined
    const columns = columnsOf(schemaOf(reader, declared) ?? {})
    if (columns === undefined) return undefined
    if (typeof columns === 'string') return [`${place} ${mediaType} cannot be written as CSV: ${columns}`]
    if (!isUtf8(mediaType)) return [`${place} ${mediaType} cannot be written as CSV: it is sent in UTF-8`]
    reader.checkRefs(media.schema)
    return { mediaType, kind: 'csv', schema: media.schema as Schema, columns }
  },
  type: (_, value) => value,
}

const scalars = ['string', 'integer', 'number', 'boolean', 'null']
const itemKeywords = ['items', 'prefixItems', 'unevaluatedItems']
// Of fields that have no column.
const otherKeywords = ['patternProperties', 'additionalProperties', 'unevaluatedProperties']

// The columns of a dereferenced schema, in the order of its properties, or why it is no table; undefined if
// it is not of arrays.
function columnsOf(schema: Node): readonly string[] | string | undefined {
  if (typesOf(schema)?.join() !== 'array') return undefined
  const items = subschemasIn(partsOf(schema), itemKeywords)
  if (items.length === 0 || items.some(({ keyword }) => keyword !== 'items'))
    return 'the array must describe all its items by items'
  const parts = items.flatMap((each) => partsOf(each.schema))
  const isOfObjects = items.some((each) => typesOf(each.schema)?.join() === 'object')
  if (!isOfObjects) return 'the items must have type: object'
  const [other] = subschemasIn(parts, otherKeywords)
  if (other !== undefined) return `the fields of ${other.keyword} have no column`
  return columnsIn(parts)
}

function subschemasIn(parts: readonly Node[], keywords: readonly string[]): Subschema[] {
  return parts.flatMap(subschemasOf).filter(({ keyword }) => keywords.includes(keyword))
}

function columnsIn(parts: readonly Node[]): readonly string[] | string {
  const columns = new Set<string>()
  for (const { properties } of parts) {
    for (const [name, field] of Object.entries(nodeOf(properties)) as [string, AnySchema][]) {
      if (field === false || nodeOf(field).writeOnly === true) continue
      const types = isNode(field) ? typesOf(field) : undefined
      if (types === undefined || !types.every((type) => scalars.includes(type)))
        return `the field ${name} may be an array or an object, which a column cannot hold`
      columns.add(name)
    }
  }
  return columns.size > 0 ? [...columns] : 'the items declare no properties'
}
