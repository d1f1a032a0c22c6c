// The place of a fault that was found while a schema was compiled: Ajv does not say in which subschema.

import type { Schema } from './contract/contract.js'
import type { Pointer } from './contract/contract-error.js'
import { type Context, contextIn, isNode, outermost, subschemasOf } from './contract/keywords.js'
import { pointerKeys } from './contract/pointer.js'

/**
 * The place of the innermost schema that does not compile by itself, below a part of the document.
 * @param fails whether a schema does not compile
 */
export function placeOfFault(document: object, part: Pointer, fails: (schema: Schema) => boolean): Pointer {
  const isFaulty = (at: Pointer) => {
    const schema = valueAt(document, at)
    return isNode(schema) && fails(schema)
  }
  const seen = new Set<string>()
  let place = part
  let inner = isFaulty(part) ? [part] : schemasBelow(document, part)
  for (let next = inner.find(isFaulty); next !== undefined; next = inner.find(isFaulty)) {
    place = next
    inner = innerPlaces(valueAt(document, place) as Schema, place).filter((at) => !seen.has(String(at)))
    for (const at of inner) seen.add(String(at))
  }
  return place
}

function valueAt(document: object, at: Pointer): unknown {
  return at.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document)
}

function innerPlaces(schema: Schema, at: Pointer): Pointer[] {
  if (typeof schema.$ref === 'string') return [pointerKeys(schema.$ref) ?? []]
  return subschemasOf(schema).map(({ keyword, name }) => [
    ...at,
    keyword,
    ...(name === undefined ? [] : [name]),
  ])
}

// The outermost schemas of a part, such as those of an operation's parameters and bodies, and of what it refers to.
function schemasBelow(document: object, part: Pointer): Pointer[] {
  const found: Pointer[] = []
  const pending: { readonly at: Pointer; readonly context: Context }[] = [{ at: part, context: outermost }]
  const seen = new Set<string>()
  for (const { at, context } of pending) {
    const value = valueAt(document, at)
    if (context.isData || typeof value !== 'object' || value === null || seen.has(String(at))) continue
    seen.add(String(at))
    const { $ref } = value as Schema
    if (typeof $ref === 'string') pending.push({ at: pointerKeys($ref) ?? [], context })
    for (const key of Object.keys(value)) {
      const inner = { at: [...at, key], context: contextIn(context, key, Array.isArray(value)) }
      if (key === 'schema' && !context.isMap) found.push(inner.at)
      else pending.push(inner)
    }
  }
  return found
}
