// Finds the place of a fault that Ajv found while it compiled a schema: Ajv does not say which subschema has
// it.

import type { Schema } from '../document/contract.js'
import type { Pointer } from '../document/contract-error.js'
import { isNode } from '../document/keywords.js'
import { valueAt } from '../document/pointer.js'
import { innerPlaces, outermostPlaces } from '../document/schema-places.js'

/**
 * Returns the place of the innermost schema, below a part of the document, that fails to compile by itself.
 * @param fails true if a schema of the document does not compile
 */
export function placeOfFault(
  document: object,
  part: Pointer,
  fails: (document: object, schema: Schema) => boolean,
): Pointer {
  const isFaulty = (at: Pointer) => {
    const schema = valueAt(document, at)
    return isNode(schema) && fails(document, schema)
  }
  const seen = new Set<string>()
  let place = part
  let inner = isFaulty(part) ? [part] : outermostPlaces(document, part)
  for (let next = inner.find(isFaulty); next !== undefined; next = inner.find(isFaulty)) {
    place = next
    inner = innerPlaces(document, valueAt(document, place) as Schema, place).filter(
      (at) => !seen.has(String(at)),
    )
    for (const at of inner) seen.add(String(at))
  }
  return place
}
