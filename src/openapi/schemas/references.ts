// `$ref`s between schemas of the document: each target is added to the Ajv once, however many schemas refer
// to it.

import type { Ajv } from 'ajv'
import type { Schema } from '../contract/contract.js'
import { ContractError } from '../contract/contract-error.js'
import { type AnySchema, contextIn, mapSchemas, outermost } from '../contract/keywords.js'
import { pointerKeys, resolvePointer } from '../contract/pointer.js'
import { asCondition } from './exact-numbers.js'

/**
 * The target of a schema's `$ref`; the schema itself if it has none, or if the target is `true` or `false`.
 */
export type Resolve = (schema: Schema) => Schema

/**
 * A function that makes a schema of the document compilable by this Ajv: it adds the targets of its `$ref`s
 * under new names.
 * @param prepare returns the change to make to each schema before it is added
 */
export function createReferences(
  ajv: Ajv,
  document: object,
  prepare: (resolve: Resolve) => (schema: Schema) => Schema,
): (schema: AnySchema) => AnySchema {
  const values: Added = new Map()
  const conditions: Added = new Map()
  let names = 0
  const targetOf = createTargetOf(document)
  const resolve = (schema: Schema): Schema => {
    const target = typeof schema.$ref === 'string' ? targetOf(schema.$ref) : schema
    return typeof target === 'object' ? target : schema
  }
  const change = prepare(resolve)
  const prepared = (schema: AnySchema) => (typeof schema === 'object' ? change(schema) : schema)
  // Targets within a condition are added separately: Ajv knows that a subschema is in a condition, but not
  // its `$ref` target.
  const add = (target: AnySchema, isCondition: boolean) => {
    const added = isCondition ? conditions : values
    const known = added.get(target)
    if (known !== undefined) return known
    const schema = isCondition ? asCondition(prepared(target)) : prepared(target)
    const entry = { name: `schema-${names++}`, schema }
    added.set(target, entry) // before its own references, which may include itself
    try {
      ajv.addSchema(withNames(schema, isCondition), entry.name)
    } catch (error) {
      added.delete(target) // so that the next schema that refers to it reports the error, too
      throw error
    }
    return entry
  }
  // Ajv looks for a default beside the `$ref`, not in its target, so it is copied there.
  const withNames = (whole: AnySchema, isConditionItself: boolean): AnySchema =>
    mapSchemas(
      whole,
      ({ $id: _, $dynamicRef, $ref = $dynamicRef, ...each }, isCondition) => {
        if (typeof $ref !== 'string') return each
        const { name, schema } = within($ref, () => add(targetOf($ref), isCondition))
        const value = typeof schema === 'object' ? schema.default : undefined
        return { ...(value !== undefined && { default: value }), ...each, $ref: name }
      },
      isConditionItself,
    )
  return (schema) => withNames(prepared(schema), false)
}

// Reports an error in a target with the target's place, not that of the schema that refers to it.
function within<Result>(ref: string, add: () => Result): Result {
  try {
    return add()
  } catch (error) {
    if (error instanceof ContractError) throw error
    throw new ContractError([{ text: `${ref}: ${(error as Error).message}`, at: pointerKeys(ref) ?? [] }])
  }
}

type Added = Map<AnySchema, { readonly name: string; readonly schema: AnySchema }>

// Resolves a `$ref` by pointer, or by the name of a `$dynamicAnchor`, which is unique in a document, and
// follows chains of references.
function createTargetOf(document: object): (ref: string) => AnySchema {
  const targets = new Map<string, AnySchema>()
  const targetOf = (ref: string): AnySchema => {
    const known = targets.get(ref)
    if (known !== undefined) return known
    const found = (resolvePointer(document, ref) ?? anchored(document, ref)) as AnySchema
    const target = typeof found === 'object' && typeof found.$ref === 'string' ? targetOf(found.$ref) : found
    targets.set(ref, target)
    return target
  }
  return targetOf
}

function anchored(value: unknown, ref: string, context = outermost): unknown {
  if (context.isData || typeof value !== 'object' || value === null) return undefined
  if ((value as Schema).$dynamicAnchor === ref.slice(1)) return value
  for (const [key, each] of Object.entries(value)) {
    const found = anchored(each, ref, contextIn(context, key, Array.isArray(value)))
    if (found !== undefined) return found
  }
  return undefined
}
