// Prints the functions of a contract's schemas as a module: what Ajv and fast-json-stringify compile of them,
// by their standalone forms. It imports nothing: load.ts hands the runtime in.

import { _, type Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv'
import standaloneModule from 'ajv/dist/standalone/index.js'
import fastJsonStringify from 'fast-json-stringify'
import type { Contract, Operation } from '../contract/contract.js'
import { ContractError } from '../contract/contract-error.js'
import type { Judges } from '../contract/judges.js'
import { type AnySchema, schemasIn } from '../contract/keywords.js'
import { createOutgoing } from '../outgoing/outgoing.js'
import { createParameterReader } from '../request/parameter-styles.js'
import { requestSchemas } from '../request/request-schemas.js'
import { createResponseSchemas } from '../response/response-schemas.js'
import { createResponseChecks } from '../response/response-validation.js'
import { changedIn, inHolder, isChanging } from '../schemas/defaulted.js'
import { assertionsOf } from '../schemas/explain.js'
import { stepsOfSchemas } from '../schemas/step-keyword.js'
import type { PrintedJudge } from './code.js'
import { type Compiler, createJudges } from './compilers.js'
import { keyOf } from './keys.js'
import { literalOf } from './literals.js'

/** The text of a module (`Code` in code.ts) with the functions of a contract's schemas. */
export function compileCode(contract: Contract): string {
  const compiled = new Map<Compiler, Map<string, ValidateFunction>>()
  const judges = new Map<string, PrintedJudge>()
  const writers = new Map<string, string>()
  const compilerOf = new Map<ValidateFunction, Compiler>()
  const compiling = createJudges(contract.specification, {
    code: { source: true },
    onCompiled: (validate, compiler) => void compilerOf.set(validate, compiler),
  })
  const note = (validate: ValidateFunction): PrintedJudge => {
    const compiler = compilerOf.get(validate) as Compiler // it has told
    const key = keyOf(plain(validate.schema))
    const functions = compiled.get(compiler) ?? new Map<string, ValidateFunction>()
    compiled.set(compiler, functions.set(key, validate))
    return [compiler.name, key]
  }
  judgeAll(contract, {
    ...recording(compiling, judges, note),
    writer: (schema) => {
      // In this mode it returns a text, whatever its type says.
      writers.set(keyOf(schema), fastJsonStringify(schema, { mode: 'standalone' }) as unknown as string)
      return compiling.writer(schema)
    },
  })
  const printed = [...compiled].map(([compiler, functions]) => printCompiler(compiler, functions))
  return [
    `export const compilers = {${printed.join()}}`,
    `export const judges = ${literalOf(Object.fromEntries(judges))}`,
    `export const writers = {${[...writers].map(printWriter).join()}}\n`,
  ].join('\n')
}

/** Judges that note by what key each function is asked for, and what compiling it throws. */
function recording(
  { request, responseHeader, responseBody, received, requestId }: Judges,
  found: Map<string, PrintedJudge>,
  note: (validate: ValidateFunction) => PrintedJudge,
): Omit<Judges, 'writer'> {
  const recorded =
    <Validate extends ValidateFunction>(
      name: string,
      judge: (schema: AnySchema, part: string | undefined) => Validate,
    ) =>
    (schema: AnySchema, part?: string): Validate => {
      const key = keyOf(schema, name, part)
      try {
        const validate = judge(schema, part)
        found.set(key, note(validate))
        return validate
      } catch (error) {
        if (!found.has(key)) found.set(key, failure(error as Error))
        throw error
      }
    }
  return {
    request: recorded('request', request),
    responseHeader: recorded('responseHeader', responseHeader),
    responseBody: recorded('responseBody', responseBody),
    received: recorded('received', received),
    requestId: recorded('requestId', requestId),
  }
}

// Without what keeps Ajv from writing it (compilers.ts).
function plain(schema: ValidateFunction['schema']): unknown {
  return typeof schema === 'object' ? { ...schema } : schema
}

function failure(error: Error): PrintedJudge {
  return error instanceof ContractError ? { problems: error.problems } : { message: error.message }
}

// Asks for all that a server may ask for. What fails there is what has failed here.
function judgeAll(contract: Contract, judges: Judges): void {
  const attempt = (step: () => unknown) => {
    try {
      step()
    } catch {} // noted
  }
  const responseSchemasOf = createResponseSchemas(contract.specification)
  attempt(() => judges.requestId(contract.requestId))
  for (const operation of contract.operations.values()) {
    for (const [part, schema] of requestParts(operation, contract))
      attempt(() => judges.request(schema, part))
    attempt(() => createParameterReader(operation, '', judges.request))
    for (const [status, response] of operation.responses)
      attempt(() =>
        createResponseChecks(judges)({ id: operation.id, responses: new Map([[status, response]]) }, true),
      )
    attempt(() => {
      const responses = Object.values(responseSchemasOf(operation) ?? {})
      for (const { content } of responses)
        for (const { schema } of Object.values(content)) judges.writer(schema as object)
    })
  }
  attempt(() => createOutgoing({ ...contract, judges: () => judges }))
}

function requestParts(
  operation: Operation,
  { specification }: Contract,
): [part: string, schema: AnySchema][] {
  const { body, ...others } = requestSchemas(operation, specification)
  const bodies = Object.values(body?.content ?? {}).map(({ schema }) => ['body', schema] as const)
  return [...Object.entries(others as Record<string, AnySchema>), ...bodies].map(([part, schema]) => [
    part,
    schema,
  ])
}

function printCompiler(compiler: Compiler, functions: Map<string, ValidateFunction>): string {
  const { name, mode, ajv } = compiler
  addChanges(compiler, functions)
  const added = addedTo(ajv)
  const { text, literals, nameOf } = printFunctions(ajv, functions, added)
  const schemas = added.map(([key, { schema }]) => `${literalOf(key)}:{schema:${nameOf(schema)}}`)
  const keywords = Object.fromEntries(Object.keys(ajv.RULES.all).map((each) => [each, true]))
  const assertions = assertionsFor(compiler, functions)
  return `
${literalOf(name)}:{mode:${literalOf(mode)},keywords:${literalOf(keywords)},
functions(runtime,require,resolveIn,defaulting){
const literals=[${literals.join(',\n')}]
const schemas={${schemas.join()}}
const resolve=resolveIn({schemas})
${text}},
${assertions === undefined ? '' : printAssertions(assertions)}}`
}

type AddedSchemas = readonly (readonly [
  string,
  { readonly schema: unknown; readonly validate?: ValidateFunction },
])[]

// Those that others refer to; not Ajv's own.
function addedTo({ schemas }: Ajv): AddedSchemas {
  return Object.entries(schemas).flatMap(([key, each]) =>
    each === undefined || each.meta ? [] : [[key, each]],
  ) as unknown as AddedSchemas
}

// A default may be changed by each schema of its property: those of names with a default are compiled, too.
function addChanges({ mode, ajv }: Compiler, functions: Map<string, ValidateFunction>): void {
  if (mode === 'check') return
  const all = () =>
    [...functions.values()]
      .map(({ schema }) => schema)
      .concat(addedTo(ajv).map(([, { schema }]) => schema as AnySchemaObject))
  const changed = all()
    .flatMap((schema) => schemasIn(schema as AnySchema))
    .flatMap(({ properties }) => changedIn((properties ?? {}) as Record<string, AnySchema>))
  const defaulted = new Set(
    changed.filter(([, schema]) => schema.default !== undefined).map(([name]) => name),
  )
  for (const [name, schema] of changed) {
    const key = keyOf(inHolder(schema))
    if (defaulted.has(name) && isChanging(schema) && !functions.has(key))
      functions.set(key, ajv.compile(inHolder(schema)))
  }
}

interface Printed {
  readonly text: string
  readonly literals: readonly string[]
  readonly nameOf: (schema: unknown) => string
}

// With each schema as one literal, whatever refers to a part of it.
function printFunctions(
  ajv: Ajv,
  functions: ReadonlyMap<string, ValidateFunction>,
  added: AddedSchemas,
): Printed {
  const indexes = new Map<unknown, number>()
  const nameOf = (schema: unknown) => {
    if (typeof schema === 'boolean') return String(schema)
    if (!indexes.has(schema)) indexes.set(schema, indexes.size)
    return `literals[${indexes.get(schema)}]`
  }
  const sources = [...functions.values(), ...added.flatMap(([, { validate }]) => validate ?? [])]
  for (const { source } of sources)
    for (const name of source?.scopeValues.schema ?? [])
      if (name.value !== undefined) name.value.code = _`literals[${indexOf(name.value.ref)}]`
  function indexOf(schema: unknown): number {
    nameOf(schema)
    return indexes.get(schema) ?? 0
  }
  const keys = [...functions.keys()].map((key) => [`r${key}`, key])
  // All that it asks of an Ajv.
  const printed = { opts: ajv.opts, scope: ajv.scope, getSchema: (key: string) => functions.get(key) } as Ajv
  const text = standaloneModule.default(printed, Object.fromEntries(keys))
  const steps = stepsOfSchemas(ajv)
  const roots = [...functions].map(([key, { schema }]) => `r${key}:${nameOf(schema)}`)
  const stepsOf = [...functions].map(([key, { schema }]) => `r${key}:${steps(schema as AnySchema)}`)
  return {
    text: `const exports={}
${text}
return {exports,schemas,steps:{${stepsOf.join()}},roots:{${roots.join()}}}`,
    literals: [...indexes.keys()].map(literalOf),
    nameOf,
  }
}

function assertionsFor({ ajv, assertions }: Compiler, functions: ReadonlyMap<string, ValidateFunction>) {
  if (assertions === undefined) return undefined
  const compiled = new Map<string, ValidateFunction>()
  const all = [
    ...[...functions.values()].map(({ schema }) => schema),
    ...addedTo(ajv).map(([, { schema }]) => schema),
  ]
  for (const schema of all.flatMap((each) => schemasIn(each as AnySchema))) {
    const own = assertionsOf(schema, ajv)
    const key = own && keyOf(own)
    if (own !== undefined && key !== undefined && !compiled.has(key))
      compiled.set(key, assertions.compile(own))
  }
  return { ajv: assertions, compiled }
}

function printAssertions({
  ajv,
  compiled,
}: {
  readonly ajv: Ajv
  readonly compiled: ReadonlyMap<string, ValidateFunction>
}): string {
  const { text, literals } = printFunctions(ajv, compiled, [])
  return `assertions(runtime,require){
const schemas={}
const literals=[${literals.join(',\n')}]
${text}}`
}

// As a module of CommonJS.
function printWriter([key, text]: [key: string, text: string]): string {
  return `\nr${key}(require){const module={}\n${text}\nreturn module.exports}`
}
