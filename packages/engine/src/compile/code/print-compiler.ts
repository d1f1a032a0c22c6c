// Prints an Ajv's compiled functions, and the functions that explain refused values (`PrintedCompiler`).

import { _, type Ajv, type Code, type ValidateFunction } from 'ajv'
import standaloneModule from 'ajv/dist/standalone/index.js'
import { type AnySchema, schemasIn } from '../../document/keywords.js'
import { schemaDigest } from '../../plan/code.js'
import { changedIn, inHolder, isChanging } from '../../runtime/defaulted.js'
import { assertionsOf } from '../../runtime/explain.js'
import { stepsOfSchemas } from '../schemas/step-keyword.js'
import type { Compiler } from './compilers.js'
import { literalOf } from './literals.js'

/** Functions by the keys of their schemas. */
export type Functions = Map<string, ValidateFunction>

/** Returns the text of a property: the compiler's name, and the compiler. */
export function printCompiler(compiler: Compiler, functions: Functions): string {
  const { name, mode, ajv, assertions } = compiler
  addChanges(compiler, functions)
  const keywords = Object.fromEntries(Object.keys(ajv.RULES.all).map((each) => [each, true]))
  const ofAssertions = assertions && printFunctions(assertions, assertionsIn(compiler, assertions, functions))
  return `
${literalOf(name)}:{mode:${literalOf(mode)},keywords:${literalOf(keywords)},
functions(runtime,require,resolveIn,defaulting){
${printFunctions(ajv, functions)}}${
    ofAssertions === undefined
      ? ''
      : `,
assertions(runtime,require,resolveIn,defaulting){
${ofAssertions}}`
  }}`
}

interface Added {
  readonly name: string
  readonly schema: AnySchema
  readonly validate: ValidateFunction | undefined
}

// Lists the schemas that others refer to, without Ajv's own.
function addedTo({ schemas }: Ajv): Added[] {
  return Object.entries(schemas).flatMap(([name, each]) => {
    if (each === undefined || each.meta === true) return []
    // No schema is of JSON Type Definition, and none is asynchronous.
    return { name, schema: each.schema as AnySchema, validate: each.validate as ValidateFunction | undefined }
  })
}

// Lists all schemas that a compiler has seen, and their subschemas.
function schemasOf({ ajv }: Compiler, functions: Functions): AnySchema[] {
  const roots = [...functions.values()].map(({ schema }) => schema as AnySchema) // as in addedTo
  return [...roots, ...addedTo(ajv).map(({ schema }) => schema)].flatMap((each) => schemasIn(each))
}

// A default may be changed by every schema of its property. So this also compiles schemas without a default
// if another schema has one for the same name.
function addChanges(compiler: Compiler, functions: Functions): void {
  if (compiler.mode === 'check') return
  const changed = schemasOf(compiler, functions).flatMap((schema) =>
    typeof schema === 'object' ? changedIn((schema.properties ?? {}) as Record<string, AnySchema>) : [],
  )
  const defaults = changed.filter(([, schema]) => schema.default !== undefined)
  const defaulted = new Set(defaults.map(([name]) => name))
  for (const [name, schema] of changed) {
    const key = schemaDigest(inHolder(schema))
    if (defaulted.has(name) && isChanging(schema) && !functions.has(key))
      functions.set(key, compiler.ajv.compile(inHolder(schema)))
  }
}

function assertionsIn(compiler: Compiler, assertions: Ajv, functions: Functions): Functions {
  const compiled: Functions = new Map()
  for (const schema of schemasOf(compiler, functions)) {
    const own = typeof schema === 'object' ? assertionsOf(schema, compiler.ajv) : undefined
    if (own === undefined) continue
    const key = schemaDigest(own)
    if (!compiled.has(key)) compiled.set(key, assertions.compile(own))
  }
  return compiled
}

// Returns the body of a function that returns `PrintedFunctions`, with the added schemas.
function printFunctions(ajv: Ajv, functions: Functions): string {
  const added = addedTo(ajv)
  const literals = new Literals()
  const all = [...functions.values(), ...added.flatMap(({ validate }) => validate ?? [])]
  for (const validate of all) literals.writeIn(validate)
  const stepsOf = stepsOfSchemas(ajv)
  // The cast: as in addedTo.
  const roots = [...functions].map(([key, { schema }]) => [key, schema as AnySchema] as const)
  const parts = {
    schemas: added.map(({ name, schema }) => `${literalOf(name)}:{schema:${literals.codeOf(schema)}}`),
    roots: roots.map(([key, schema]) => `r${key}:${literals.codeOf(schema)}`),
    steps: roots.map(([key, schema]) => `r${key}:${stepsOf(schema)}`),
  }
  return `const literals=${literals}
const schemas={${parts.schemas.join()}}
const resolve=resolveIn({schemas})
const exports={}
${standaloneOf(ajv, functions)}
return {exports,schemas,steps:{${parts.steps.join()}},roots:{${parts.roots.join()}}}`
}

// Passes all that standaloneCode asks of an Ajv. The Ajv itself does not know these schemas by their keys.
function standaloneOf({ opts, scope }: Ajv, functions: Functions): string {
  const ajv = { opts, scope, getSchema: (key: string) => functions.get(key) } as unknown as Ajv
  return standaloneModule.default(
    ajv,
    Object.fromEntries([...functions.keys()].map((key) => [`r${key}`, key])),
  )
}

/** Prints each schema as one literal, whatever refers to a part of it. */
class Literals {
  readonly #indexes = new Map<unknown, number>()

  codeOf(schema: unknown): Code {
    if (typeof schema === 'boolean') return _`${schema}`
    const index = this.#indexes.get(schema) ?? this.#indexes.size
    this.#indexes.set(schema, index)
    return _`literals[${index}]`
  }

  /** Makes the code of a function refer to the literals. */
  writeIn({ source }: ValidateFunction): void {
    for (const { value } of source?.scopeValues.schema ?? [])
      if (value !== undefined) value.code = this.codeOf(value.ref)
  }

  toString(): string {
    return `[${[...this.#indexes.keys()].map(literalOf).join(',\n')}]`
  }
}
