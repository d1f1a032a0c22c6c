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
  const values = new Map<AnySchema, Target>()
  const conditions = new Map<AnySchema, Target>()
  const schemaAt = createSchemaAt(document)
  const resolve = (schema: Schema): Schema => {
    const target = typeof schema.$ref === 'string' ? schemaAt(schema.$ref) : schema
    return typeof target === 'object' ? target : schema
  }
  const change = prepare(resolve)
  const prepared = (schema: AnySchema) => (typeof schema === 'object' ? change(schema) : schema)
  // Targets within a condition are added separately: Ajv knows that a subschema is in a condition, but not
  // its `$ref` target.
  const targetOf = (ref: string, isCondition: boolean): Target => {
    const targets = isCondition ? conditions : values
    const given = schemaAt(ref)
    const known = targets.get(given)
    if (known !== undefined) return known
    const target = { ref, name: `schema-${values.size + conditions.size}`, given, isCondition }
    targets.set(given, target)
    return target
  }
  const targetsIn = (schema: AnySchema, isCondition: boolean) => {
    const found: Target[] = []
    mapSchemas(
      schema,
      (each, isCondition) => {
        const ref = refOf(each)
        if (ref !== undefined) found.push(targetOf(ref, isCondition))
        return each
      },
      isCondition,
    )
    return found
  }
  // Ajv looks for a default beside the `$ref`, not in its target, so it is copied there.
  const withNames = (whole: AnySchema, isConditionItself: boolean): AnySchema =>
    mapSchemas(
      whole,
      (schema, isCondition) => {
        const { $id: _, $ref: __, $dynamicRef: ___, ...each } = schema
        const ref = refOf(schema)
        if (ref === undefined) return each
        const { name, prepared } = targetOf(ref, isCondition)
        const value = typeof prepared === 'object' ? prepared.default : undefined
        return { ...(value !== undefined && { default: value }), ...each, $ref: name }
      },
      isConditionItself,
    )
  const steps: ((target: Target) => void)[] = [
    (each) => {
      each.prepared = each.isCondition ? asCondition(prepared(each.given)) : prepared(each.given)
    },
    ({ name, prepared = true, isCondition }) => {
      if (ajv.schemas[name] === undefined) ajv.addSchema(withNames(prepared, isCondition), name)
    },
    (each) => {
      compileOne(ajv, each)
      each.isReady = true
    },
  ]
  // Step by step and innermost first: nested, a chain of references would overflow the stack.
  const addTargets = (schema: AnySchema) => {
    const reached = new Set(targetsIn(schema, false)) // a Set iterates over what is added meanwhile, too
    for (const each of reached) {
      each.inner ??= targetsIn(each.given, each.isCondition)
      for (const one of each.inner) reached.add(one)
    }
    const innermostFirst = [...reached].reverse()
    for (const { error } of innermostFirst) if (error !== undefined) throw error
    const added = innermostFirst.filter(({ isReady }) => isReady !== true)
    for (const step of steps) for (const each of added) within(each, step)
  }
  return (schema) => {
    addTargets(schema)
    return withNames(prepared(schema), false)
  }
}

interface Target {
  readonly ref: string
  /** Its name in the Ajv. */
  readonly name: string
  /** As in the document. */
  readonly given: AnySchema
  readonly isCondition: boolean
  /** The targets of its own references. */
  inner?: readonly Target[]
  prepared?: AnySchema
  isReady?: boolean
  /** Why it cannot be added, for each schema that refers to it. */
  error?: ContractError
}

function refOf({ $dynamicRef, $ref = $dynamicRef }: Schema): string | undefined {
  return typeof $ref === 'string' ? $ref : undefined
}

// Ajv would compile the targets that it has not compiled yet, which then are around this one, within its own
// compilation. What it finds among `refs` is bound when it is called. A target without `$ref`s is inlined and
// never compiled, so it must not be among them.
function compileOne(ajv: Ajv, { name, inner = [] }: Target): void {
  if (inner.length === 0) return
  const own = ajv.schemas[name]
  for (const each of inner) {
    const target = ajv.schemas[each.name]
    const isPending = each.isReady !== true && (each.inner ?? []).length > 0
    if (isPending && own !== undefined && target !== undefined) own.refs[each.name] = target
  }
  ajv.getSchema(name)
}

// Reports an error in a target with the target's place, not that of the schema that refers to it.
function within(target: Target, step: (target: Target) => void): void {
  try {
    step(target)
  } catch (error) {
    const text = `${target.ref}: ${(error as Error).message}`
    target.error = new ContractError([{ text, at: pointerKeys(target.ref) ?? [] }])
    throw target.error
  }
}

// Resolves a `$ref` by pointer, or by the name of a `$dynamicAnchor`, which is unique in a document, and
// follows chains of references.
function createSchemaAt(document: object): (ref: string) => AnySchema {
  const schemas = new Map<string, AnySchema>()
  // A `$dynamicRef` without a target allows anything; `generate` warns.
  const find = (ref: string) =>
    (resolvePointer(document, ref) ?? anchored(document, ref) ?? true) as AnySchema
  return (ref) => {
    const known = schemas.get(ref)
    if (known !== undefined) return known
    let schema = find(ref)
    while (typeof schema === 'object' && typeof schema.$ref === 'string') schema = find(schema.$ref)
    schemas.set(ref, schema)
    return schema
  }
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
