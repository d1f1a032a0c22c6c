// Schemas that refer to others of their document: each of these is compiled once, however many refer to it.

import type { Ajv } from 'ajv'
import { ContractError } from '../contract/contract-error.js'
import { keysOf, lookUp } from '../contract/pointer.js'
import type { Schema } from '../contract/types.js'
import { type AnySchema, asCondition, mapSchemas } from './exact-numbers.js'

/** What a schema refers to; itself where that is nothing, or no more than `true` or `false`. */
export type Resolve = (schema: Schema) => Schema

/**
 * What makes a schema of the document one that this Ajv can compile: what it refers to is added to the Ajv, under names of its own.
 * @param prepare gives what each of them is changed by before that
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
  // A schema of its own where a value is only looked at: Ajv knows that of what stands there, not of what that refers to.
  const add = (target: AnySchema, isCondition: boolean) => {
    const added = isCondition ? conditions : values
    const known = added.get(target)
    if (known !== undefined) return known
    const schema = isCondition ? asCondition(prepared(target)) : prepared(target)
    const entry = { name: `schema-${names++}`, schema }
    added.set(target, entry) // before what it refers to, which may be itself
    try {
      ajv.addSchema(withNames(schema, isCondition), entry.name)
    } catch (error) {
      added.delete(target) // for the next that refers to it to say why, too
      throw error
    }
    return entry
  }
  // A default is given where the reference stands, for Ajv looks for it there.
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

// Whatever refers to a schema, a fault in it is its own.
function within<Result>(ref: string, add: () => Result): Result {
  try {
    return add()
  } catch (error) {
    if (error instanceof ContractError) throw error
    throw new ContractError([{ text: `${ref}: ${(error as Error).message}`, at: keysOf(ref) ?? [] }])
  }
}

type Added = Map<AnySchema, { readonly name: string; readonly schema: AnySchema }>

// By pointer, or by the name of a `$dynamicAnchor`: of these a document has one of a name. What is no more than a reference is that
// which it refers to.
function createTargetOf(document: object): (ref: string) => AnySchema {
  const targets = new Map<string, AnySchema>()
  const targetOf = (ref: string): AnySchema => {
    const known = targets.get(ref)
    if (known !== undefined) return known
    const found = (lookUp(document, ref) ?? anchored(document, ref)) as AnySchema
    const target = typeof found === 'object' && typeof found.$ref === 'string' ? targetOf(found.$ref) : found
    targets.set(ref, target)
    return target
  }
  return targetOf
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
