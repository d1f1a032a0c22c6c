// The schemas of a document with their places, found without recursion.

import type { Operation, Schema } from './contract.js'
import type { Pointer } from './contract-error.js'
import { isNode, type Nesting, nestingIn, outermost, schemaFields, subschemasOf } from './keywords.js'
import { operationPlace } from './methods.js'
import { pointerKeys, valueAt } from './pointer.js'

/** The places of the schemas directly within a schema; of a reference, that of its target. */
export function innerPlaces(schema: Schema, at: Pointer): Pointer[] {
  if (typeof schema.$ref === 'string') return [pointerKeys(schema.$ref) ?? []]
  return subschemasOf(schema).map(({ keyword, name }) => [
    ...at,
    keyword,
    ...(name === undefined ? [] : [name]),
  ])
}

/** The places of the outermost schemas of a part, such as an operation, and of what it refers to. */
export function outermostPlaces(document: object, part: Pointer): Pointer[] {
  const found: Pointer[] = []
  const pending: { readonly at: Pointer; readonly nesting: Nesting }[] = [{ at: part, nesting: outermost }]
  const seen = new Set<string>()
  for (const { at, nesting } of pending) {
    const value = valueAt(document, at)
    if (nesting.isData || typeof value !== 'object' || value === null || seen.has(String(at))) continue
    seen.add(String(at))
    const { $ref } = value as Schema
    if (typeof $ref === 'string') pending.push({ at: pointerKeys($ref) ?? [], nesting })
    for (const key of Object.keys(value)) {
      const inner = { at: [...at, key], nesting: nestingIn(nesting, key, Array.isArray(value)) }
      const isSchema = nesting.isMap ? nesting.of === 'schemas' : schemaFields.has(key)
      if (isSchema) found.push(inner.at)
      else pending.push(inner)
    }
  }
  return found
}

/** A schema, and its place in a document. */
export interface SchemaPlace {
  readonly schema: Schema
  readonly at: Pointer
}

/** Every schema of a document, or of a part of it and of what it refers to. */
export function schemaPlaces(document: object, part: Pointer = []): SchemaPlace[] {
  const found: SchemaPlace[] = []
  const pending = outermostPlaces(document, part)
  const seen = new Set<string>()
  for (const at of pending) {
    const schema = valueAt(document, at)
    const place = JSON.stringify(at)
    if (!isNode(schema) || seen.has(place)) continue
    seen.add(place)
    found.push({ schema, at })
    pending.push(...innerPlaces(schema, at))
  }
  return found
}

/** The places of the schemas that an operation applies. */
export function placesOf(document: object, operation: Pick<Operation, 'path' | 'method'>): Pointer[] {
  const path = ['paths', operation.path]
  const own = operationPlace(operation)
  // Of a path item that is a reference, those of all its operations.
  const parts = valueAt(document, own) === undefined ? [path] : [own, [...path, 'parameters']]
  return parts.flatMap((part) => schemaPlaces(document, part)).map(({ at }) => at)
}
