// Checks what kind of object each reference leads to. An object of another kind would be read as an object
// without fields, and nothing would be validated.

import type { Pointer, Problem } from './contract-error.js'
import { pointerKeys } from './pointer.js'
import { type NodeKind, nouns, pathOf, placeAt, walk } from './walk.js'

/** A `$ref`, the place of its object, and the kind of object that belongs there. */
export interface Reference {
  readonly ref: string
  readonly at: Pointer
  readonly kind: NodeKind
}

/** Returns the references of a document, except those in its data. */
export function referencesIn(document: object): Reference[] {
  const found: Reference[] = []
  walk(document, (value, place, within) => {
    const { $ref } = value as { readonly $ref?: unknown }
    if (place.kind !== undefined && typeof $ref === 'string')
      found.push({ ref: $ref, at: pathOf(place), kind: place.kind })
    return within(value, place)
  })
  return found
}

/** Returns a problem for each reference to an object of another kind than belongs there. */
export function misplacedRefs(document: object, references: readonly Reference[]): Problem[] {
  return references.flatMap(({ ref, at, kind }) => {
    const actual = kindAt(document, ref)
    if (actual === undefined || actual === kind) return []
    return [{ text: `$ref ${ref} refers to ${nouns[actual]}: it must refer to ${nouns[kind]}`, at }]
  })
}

/** True if a `$ref` points to a schema. */
export function isOfSchema(document: object, ref: string): boolean {
  return kindAt(document, ref) === 'schemas'
}

// Returns undefined where anything may stand, as in an extension.
function kindAt(document: object, ref: string): NodeKind | undefined {
  return placeAt(document, pointerKeys(ref) ?? []).kind
}
