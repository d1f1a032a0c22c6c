// Adds the targets of `$ref`s to an Ajv, each once, however many schemas refer to it.

import type { Ajv } from 'ajv'
import type { Schema } from '../../document/contract.js'
import { ContractError } from '../../document/contract-error.js'
import {
  type AnySchema,
  type Applied,
  applied,
  asksForUnevaluated,
  mapSchemas,
} from '../../document/keywords.js'
import { pointerKeys, resolvePointer } from '../../document/pointer.js'
import type { Resolve } from '../../runtime/references.js'
import { withEvaluations } from './evaluated-keywords.js'
import { asCondition } from './exact-numbers.js'

/**
 * Returns a function that makes a schema of the document compilable by this Ajv: it adds the targets of the
 * schema's `$ref`s under new names.
 * @param prepare returns the change to make to each schema before it is added
 */
export function createReferences(
  ajv: Ajv,
  document: object,
  prepare: (resolve: Resolve) => (schema: Schema) => Schema,
): (schema: AnySchema) => AnySchema {
  const references = new References(ajv, document, prepare)
  return (schema) => references.compilable(schema)
}

class References {
  // By how the targets are applied: Ajv needs another copy of a target that is applied within a condition.
  readonly #targets = new Map<string, Map<AnySchema, Target>>()
  readonly #ajv: Ajv
  readonly #schemaAt: (ref: string) => AnySchema
  readonly #change: (schema: Schema) => Schema

  constructor(ajv: Ajv, document: object, prepare: (resolve: Resolve) => (schema: Schema) => Schema) {
    this.#ajv = ajv
    this.#schemaAt = createSchemaAt(document)
    this.#change = prepare((schema) => {
      const target = typeof schema.$ref === 'string' ? this.#schemaAt(schema.$ref) : schema
      return typeof target === 'object' ? target : schema
    })
  }

  compilable(schema: AnySchema): AnySchema {
    this.#addTargets(schema)
    return this.#withNames(withEvaluations(this.#prepared(schema), applied), applied)
  }

  #prepared(schema: AnySchema): AnySchema {
    return typeof schema === 'object' ? this.#change(schema) : schema
  }

  #targetOf(ref: string, how: Applied): Target {
    const kind = `schema${how.isCondition ? '-if' : ''}${how.isAsked ? '-part' : ''}`
    const targets = this.#targets.get(kind) ?? new Map<AnySchema, Target>()
    this.#targets.set(kind, targets)
    const given = this.#schemaAt(ref)
    const known = targets.get(given)
    if (known !== undefined) return known
    const target = { ref, name: `${kind}-${targets.size}`, given, how }
    targets.set(given, target)
    return target
  }

  #targetsIn(schema: AnySchema, how: Applied): Target[] {
    const found: Target[] = []
    const note = (each: Schema, how: Applied) => {
      const ref = refOf(each)
      if (ref !== undefined) found.push(this.#targetOf(ref, ofTarget(each, how)))
      return each
    }
    mapSchemas(schema, note, how)
    return found
  }

  // `createNote` looks for a default beside the `$ref`, not in its target, so the default is copied there.
  #withNames(whole: AnySchema, how: Applied): AnySchema {
    const rename = (schema: Schema, how: Applied) => {
      const { $id: _, $ref: __, ...each } = schema
      const ref = refOf(schema)
      if (ref === undefined) return each
      const { name, prepared } = this.#targetOf(ref, ofTarget(schema, how))
      const value = typeof prepared === 'object' ? prepared.default : undefined
      return { ...(value !== undefined && { default: value }), ...each, $ref: name }
    }
    return mapSchemas(whole, rename, how)
  }

  // Adds targets in a loop, innermost first: recursion would overflow the stack on a long chain of
  // references.
  #addTargets(schema: AnySchema): void {
    // The loop also visits what is added to the Set meanwhile.
    const reached = new Set(this.#targetsIn(schema, applied))
    for (const each of reached) {
      each.inner ??= this.#targetsIn(each.given, each.how)
      for (const one of each.inner) reached.add(one)
    }
    const innermostFirst = [...reached].reverse()
    for (const { error } of innermostFirst) if (error !== undefined) throw error
    const added = innermostFirst.filter(({ isReady }) => isReady !== true)
    for (const each of added) atPlaceOf(each, () => this.#prepare(each))
    for (const each of added) atPlaceOf(each, () => this.#add(each))
    for (const each of added) atPlaceOf(each, () => compileOne(this.#ajv, each))
  }

  #prepare(target: Target): void {
    const prepared = this.#prepared(target.given)
    const { how } = target
    target.prepared = withEvaluations(how.isCondition ? asCondition(prepared) : prepared, how)
  }

  #add({ name, prepared = true, how }: Target): void {
    if (this.#ajv.schemas[name] !== undefined) return
    this.#ajv.addSchema(this.#withNames(prepared, how), name)
  }
}

interface Target {
  readonly ref: string
  /** The name that it has in the Ajv. */
  readonly name: string
  /** The schema as the document has it. */
  readonly given: AnySchema
  readonly how: Applied
  /** The targets of the schema's own references. */
  inner?: readonly Target[]
  prepared?: AnySchema
  isReady?: boolean
  /** Why the target cannot be added. It is thrown for each schema that refers to the target. */
  error?: ContractError
}

/** The reference of a schema. */
export function refOf({ $ref }: Schema): string | undefined {
  return typeof $ref === 'string' ? $ref : undefined
}

// Returns how the target of a schema's reference is applied.
function ofTarget(schema: Schema, { isCondition, isAsked }: Applied): Applied {
  return { isCondition, isAsked: isAsked || asksForUnevaluated(schema) }
}

// Compiles one target. Ajv would compile the other targets that are still pending (those around this one)
// within this compilation. An entry in `refs` keeps it from that: Ajv then binds the target when it is first
// called. Ajv inlines a target without `$ref`s and never compiles it, so such a target must not be in `refs`.
function compileOne(ajv: Ajv, target: Target): void {
  const { name, inner = [] } = target
  const own = ajv.schemas[name]
  for (const each of inner) {
    const other = ajv.schemas[each.name]
    const isPending = each.isReady !== true && (each.inner ?? []).length > 0
    if (isPending && own !== undefined && other !== undefined) own.refs[each.name] = other
  }
  if (inner.length > 0) ajv.getSchema(name)
  target.isReady = true
}

// Reports an error in a target at the place of the target, not of the schema that refers to it.
function atPlaceOf(target: Target, step: () => void): void {
  try {
    step()
  } catch (error) {
    const text = `${target.ref}: ${(error as Error).message}`
    target.error = new ContractError([{ text, at: pointerKeys(target.ref) ?? [] }])
    throw target.error
  }
}

/** Returns a function that resolves a `$ref` by its pointer, and follows chains of references. */
export function createSchemaAt(document: object): (ref: string) => AnySchema {
  const schemas = new Map<string, AnySchema>()
  const find = (ref: string) => (resolvePointer(document, ref) ?? true) as AnySchema
  return (ref) => {
    const known = schemas.get(ref)
    if (known !== undefined) return known
    let schema = find(ref)
    while (typeof schema === 'object' && typeof schema.$ref === 'string') schema = find(schema.$ref)
    schemas.set(ref, schema)
    return schema
  }
}
