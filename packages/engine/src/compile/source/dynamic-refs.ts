// Replaces each `$dynamicRef` (JSON Schema Core 2020-12, section 8.2.3.2) by a `$ref` to the first
// `$dynamicAnchor` of its name, which is how the server follows it. This happens before anything else reads
// the document, so that every walk over references finds it.

import type { Schema } from '../../document/contract.js'
import type { Pointer } from '../../document/contract-error.js'
import { pointerTo, resolvePointer } from '../../document/pointer.js'
import { pathOf, walk } from '../../document/walk.js'

/**
 * Returns a document with a `$ref` in place of each `$dynamicRef`. Anchors are removed, because Ajv allows
 * one of each name. A `$dynamicRef` without a target is left out: it allows anything, and `generate` warns.
 */
export function withoutDynamicRefs(document: object): object {
  const anchors = new Map<string, string>()
  if (!findAnchors(document, anchors)) return document
  const replaced = walk(document, (value, place, within) => {
    const inner = within(value, place)
    return place.isMap || Array.isArray(inner) ? inner : withRef(inner as Schema, document, anchors)
  })
  return replaced as object // an object stays an object
}

// Collects the anchors; returns true if the document has an anchor or a dynamic reference.
function findAnchors(document: object, anchors: Map<string, string>): boolean {
  let isFound = false
  walk(document, (value, place, within) => {
    const { $dynamicAnchor: name, $dynamicRef } = place.isMap ? {} : (value as Schema)
    if (typeof name === 'string' && !anchors.has(name)) anchors.set(name, refTo(pathOf(place)))
    isFound ||= typeof ($dynamicRef ?? name) === 'string'
    return within(value, place)
  })
  return isFound
}

function refTo(at: Pointer): string {
  return pointerTo(at.map((key) => String(key).replaceAll('%', '%25')))
}

function withRef(schema: Schema, document: object, anchors: ReadonlyMap<string, string>): Schema {
  if (schema.$dynamicAnchor === undefined && schema.$dynamicRef === undefined) return schema
  const { $dynamicAnchor: _, ...named } = schema
  const { $dynamicRef, ...others } = named
  if (typeof $dynamicRef !== 'string') return named
  const isPointer = resolvePointer(document, $dynamicRef) !== undefined
  const $ref = isPointer ? $dynamicRef : anchors.get($dynamicRef.slice(1))
  if ($ref === undefined) return others
  if (others.$ref === undefined) return { ...others, $ref }
  return { ...others, allOf: [...((others.allOf as readonly unknown[] | undefined) ?? []), { $ref }] }
}
