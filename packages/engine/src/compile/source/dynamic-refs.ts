// `$dynamicRef` (JSON Schema Core 2020-12, section 8.2.3.2), which the server follows like a `$ref` to the
// first `$dynamicAnchor` of its name. It becomes one before anything reads the document, so that every walk
// over references finds it.

import type { Schema } from '../../document/contract.js'
import type { Pointer } from '../../document/contract-error.js'
import { mapMembers, type Nesting, nestingIn, outermost } from '../../document/keywords.js'
import { pointerTo, resolvePointer } from '../../document/pointer.js'

/**
 * A document with a `$ref` in place of each `$dynamicRef`, and without anchors, of which Ajv allows one of
 * each name. A `$dynamicRef` without a target is left out: it allows anything, and `generate` warns.
 */
export function withoutDynamicRefs(document: object): object {
  const anchors = new Map<string, string>()
  if (!findAnchors(document, outermost, [], anchors)) return document
  const replaced = (value: unknown, nesting: Nesting): unknown => {
    if (nesting.isData || typeof value !== 'object' || value === null) return value
    const copy = mapMembers(value, nesting, replaced)
    return nesting.isMap || Array.isArray(copy) ? copy : withRef(copy as Schema, document, anchors)
  }
  return replaced(document, outermost) as object // an object stays one
}

// Returns whether there is one, or a reference to one.
function findAnchors(value: unknown, nesting: Nesting, at: Pointer, anchors: Map<string, string>): boolean {
  if (nesting.isData || typeof value !== 'object' || value === null) return false
  const { $dynamicAnchor: name, $dynamicRef } = nesting.isMap ? {} : (value as Schema)
  if (typeof name === 'string' && !anchors.has(name)) anchors.set(name, refTo(at))
  let isFound = typeof ($dynamicRef ?? name) === 'string'
  for (const [key, each] of Object.entries(value)) {
    const inner = nestingIn(nesting, key, Array.isArray(value))
    if (findAnchors(each, inner, [...at, key], anchors)) isFound = true
  }
  return isFound
}

function refTo(at: Pointer): string {
  return pointerTo(at.map((key) => String(key).replaceAll('%', '%25')))
}

function withRef(schema: Schema, document: object, anchors: ReadonlyMap<string, string>): Schema {
  const { $dynamicAnchor: _, ...named } = schema
  const { $dynamicRef, ...others } = named
  if (typeof $dynamicRef !== 'string') return named
  const isPointer = resolvePointer(document, $dynamicRef) !== undefined
  const $ref = isPointer ? $dynamicRef : anchors.get($dynamicRef.slice(1))
  if ($ref === undefined) return others
  if (others.$ref === undefined) return { ...others, $ref }
  return { ...others, allOf: [...((others.allOf as readonly unknown[] | undefined) ?? []), { $ref }] }
}
