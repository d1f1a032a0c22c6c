// Schemas that refer to others of their document: each of these is compiled once, however many refer to it.

import type { Ajv } from 'ajv'
import { lookUp } from '../contract/pointer.js'
import type { Schema } from '../contract/types.js'
import { type AnySchema, mapSchemas } from './exact-numbers.js'

/** What a schema refers to; itself where that is nothing, or no more than `true` or `false`. */
export type Resolve = (schema: Schema) => Schema

/**
 * What makes a schema of the document one that this Ajv can compile: what it refers to is added to the Ajv, under names of its own.
 * @param prepare is asked for each of them before that
 */
export function createReferences(
  ajv: Ajv,
  document: object,
  prepare: (schema: Schema, resolve: Resolve) => Schema,
): (schema: AnySchema) => AnySchema {
  const names = new Map<string, string>()
  const targetOf = createTargetOf(document)
  const resolve = (schema: Schema): Schema => {
    const target = typeof schema.$ref === 'string' ? targetOf(schema.$ref) : schema
    if (typeof target !== 'object') return schema
    return target === schema ? schema : resolve(target)
  }
  const nameOf = (ref: string): string => {
    const known = names.get(ref)
    if (known !== undefined) return known
    const name = `schema-${names.size}`
    names.set(ref, name)
    ajv.addSchema(prepared(targetOf(ref)), name)
    return name
  }
  const prepared = (schema: AnySchema): AnySchema => {
    if (typeof schema === 'boolean') return schema
    return mapSchemas(prepare(schema, resolve), ({ $id: _, $dynamicRef, $ref = $dynamicRef, ...each }) =>
      typeof $ref === 'string' ? { ...each, $ref: nameOf($ref) } : each,
    )
  }
  return prepared
}

// By pointer, or by the name of a `$dynamicAnchor`: of these a document has one of a name.
function createTargetOf(document: object): (ref: string) => AnySchema {
  const targets = new Map<string, AnySchema>()
  return (ref) => {
    const target = targets.get(ref) ?? ((lookUp(document, ref) ?? anchored(document, ref)) as AnySchema)
    targets.set(ref, target)
    return target
  }
}

function anchored(value: unknown, ref: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if ((value as Schema).$dynamicAnchor === ref.slice(1)) return value
  for (const each of Object.values(value)) {
    const found = anchored(each, ref)
    if (found !== undefined) return found
  }
  return undefined
}
