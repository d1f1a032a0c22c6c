// Finds the schemas of a document, with their places, without recursion.

import type { Operation, Schema } from './contract.js'
import type { Pointer } from './contract-error.js'
import { isNode, subschemasOf } from './keywords.js'
import { operationPlace } from './methods.js'
import { pointerKeys, valueAt } from './pointer.js'
import { pathOf, placeIn, schemaFields, wholeDocument } from './walk.js'

/** Returns the places of the schemas directly within a schema; for a reference, the place of its target. */
export function innerPlaces(document: object, schema: Schema, at: Pointer): Pointer[] {
  return innerSchemas(document, schema, at).map((each) => each.at)
}

function innerSchemas(document: object, schema: Schema, at: Pointer) {
  if (typeof schema.$ref === 'string') {
    const target = pointerKeys(schema.$ref) ?? []
    return [{ schema: valueAt(document, target), at: target }]
  }
  return subschemasOf(schema).map(({ keyword, name, schema }) => {
    return { schema, at: [...at, keyword, ...(name === undefined ? [] : [name])] }
  })
}

/**
 * Returns the places of the outermost schemas of a part, such as an operation, and of the parts that it
 * refers to.
 */
export function outermostPlaces(document: object, part: Pointer): Pointer[] {
  const found: Pointer[] = []
  const pending = [{ value: valueAt(document, part), base: part, place: wholeDocument }]
  const seen = new Set<string>()
  for (const { value, base, place } of pending) {
    if (place.isData || typeof value !== 'object' || value === null) continue
    const { $ref } = value as Schema
    if (typeof $ref === 'string' && !seen.has($ref)) {
      seen.add($ref)
      const target = pointerKeys($ref) ?? []
      const { key: _, around: __, ...own } = place
      pending.push({ value: valueAt(document, target), base: target, place: own })
    }
    for (const [key, each] of Object.entries(value)) {
      const inner = placeIn(place, key, Array.isArray(value))
      const isSchema = place.isMap ? place.of === 'schemas' : schemaFields.has(key)
      if (isSchema) found.push([...base, ...pathOf(inner)])
      else pending.push({ value: each, base, place: inner })
    }
  }
  return found
}

/** A schema, and its place in a document. */
export interface SchemaPlace {
  readonly schema: Schema
  readonly at: Pointer
}

/** Returns every schema of a document, or of a part of it and the parts that it refers to. */
export function schemaPlaces(document: object, part: Pointer = []): SchemaPlace[] {
  const found: SchemaPlace[] = []
  const pending = outermostPlaces(document, part).map((at) => ({ schema: valueAt(document, at), at }))
  const seen = new Map<Schema, Pointer[]>() // an alias in YAML puts one object in several places
  for (const { schema, at } of pending) {
    const known = isNode(schema) ? (seen.get(schema) ?? []) : []
    if (!isNode(schema) || known.some((each) => isSamePlace(each, at))) continue
    seen.set(schema, [...known, at])
    found.push({ schema, at })
    pending.push(...innerSchemas(document, schema, at))
  }
  return found
}

function isSamePlace(one: Pointer, other: Pointer): boolean {
  return one.length === other.length && one.every((key, i) => String(key) === String(other[i]))
}

/** Returns the places of the schemas that an operation applies. */
export function placesOf(document: object, operation: Pick<Operation, 'path' | 'method'>): Pointer[] {
  const path = ['paths', operation.path]
  const own = operationPlace(operation)
  // If the path item is a reference, this returns the places of all its operations.
  const parts = valueAt(document, own) === undefined ? [path] : [own, [...path, 'parameters']]
  return parts.flatMap((part) => schemaPlaces(document, part)).map(({ at }) => at)
}
