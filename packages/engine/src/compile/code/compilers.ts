// Compiles the functions of a contract's schemas with Ajv: to run within the process, or to be printed
// (print.ts).

import { compileFunction } from 'node:vm'
import type { Ajv, CodeOptions, Options, ValidateFunction } from 'ajv'
import { ContractError } from '../../document/contract-error.js'
import {
  type FunctionName,
  type Functions,
  type Validator,
  type WriteJson,
  withValidators,
} from '../../document/functions.js'
import type { AnySchema } from '../../document/keywords.js'
import { Reader } from '../../document/reader.js'
import type { NumberMode } from '../../runtime/exact-numbers.js'
import { createExplain, everyError, explaining } from '../../runtime/explain.js'
import { compileOnce } from '../../runtime/once.js'
import { runtime } from '../../runtime/runtime.js'
import { compilable, createAjv } from '../schemas/ajv.js'
import { withExcuses } from '../schemas/default-keywords.js'
import { createDefaultCheck } from '../schemas/defaults.js'
import { withEvaluations } from '../schemas/evaluated-keywords.js'
import { compilableWithout, type Forbidden, forbid } from '../schemas/read-write-only.js'
import { createReferences } from '../schemas/references.js'
import { type How, isOfRequest, type NamedSchemas, type RequestHow, requestPlaces } from './names.js'
import { PrintedWriters } from './print-writers.js'

/** A compiler of the schemas whose values are judged in the same way. */
export interface Compiler {
  readonly name: string
  readonly mode: NumberMode
  readonly ajv: Ajv
  /** The Ajv that compiles what explains refused values; undefined where no refusal is explained. */
  readonly assertions: Ajv | undefined
}

export interface CompilerOptions {
  readonly code?: CodeOptions
  /** Called with each function, and the compiler that made it. */
  readonly onCompiled?: (validate: ValidateFunction, compiler: Compiler) => void
}

/** Compiles schemas, by how their values are judged. Throws if a schema is invalid. */
export interface Judge {
  (how: RequestHow, schema: AnySchema): Validator
  (how: How, schema: AnySchema): ValidateFunction
}

/** Returns the compiler of the schemas of a document. */
export function createJudge(document: object, options: CompilerOptions = {}): Judge {
  const ofBodies = { ownProperties: true, allErrors: false }
  const validators = lazily(() => createValidators(document, options))
  const headers = lazily(() => create('header', 'text', {}, undefined, options))
  const bodies = lazily(() => createReferring('response', 'check', ofBodies, 'writeOnly', document, options))
  // The receiver decides what it responds: readOnly values are allowed, and writeOnly ones are not.
  const received = lazily(() => createReferring('received', 'json', ofBodies, 'writeOnly', document, options))
  const ids = lazily(() => create('request-id', 'check', {}, undefined, options))
  const others: Readonly<Record<Exclude<How, RequestHow>, (schema: AnySchema) => ValidateFunction>> = {
    responseHeader: compileOnce((schema) =>
      headers().compile({ type: 'object', properties: { value: compilable(schema, 'text') } }),
    ),
    responseBody: compileOnce((schema) => bodies()(schema)),
    received: compileOnce((schema) => received()(schema, (body) => ({ properties: { body } }))),
    requestId: (schema) => ids().compile(compilable(schema)),
  }
  function judge(how: RequestHow, schema: AnySchema): Validator
  function judge(how: How, schema: AnySchema): ValidateFunction
  function judge(how: How, schema: AnySchema): ValidateFunction {
    return isOfRequest(how) ? validators()(how, schema) : others[how](schema)
  }
  return judge
}

/** Returns the functions of a contract's schemas, each compiled when it is first asked for. */
export function createFunctions(
  document: object,
  named: NamedSchemas,
  judge = createJudge(document),
): Functions {
  return withValidators({
    judge: (name) => {
      const { how, schema } = known(named.judges, name)
      return judge(how, schema)
    },
    writer: (name) => createWriter(known(named.writers, name), document),
  })
}

function known<Found>(all: ReadonlyMap<FunctionName, Found>, name: FunctionName): Found {
  const found = all.get(name)
  if (found === undefined) throw new Error(`the contract has no function ${name}`)
  return found
}

function createWriter(schema: AnySchema, document: object): WriteJson {
  const printed = new PrintedWriters(new Reader(document))
  printed.add('write', schema)
  const writers = compileFunction(`return ${printed}`)()(runtime) as { readonly write: WriteJson }
  return writers.write
}

/**
 * True if a schema compiles in a document. Each call uses a new compiler, because a compiler reports an
 * invalid default only once. A ContractError is about another schema, to which this one refers, so it counts
 * as compiled.
 */
export function isCompilable(document: object, schema: AnySchema): boolean {
  try {
    createJudge(document)('body', schema)
    return true
  } catch (error) {
    return error instanceof ContractError
  }
}

interface Compile {
  readonly ajv: Ajv
  compile(schema: AnySchema): ValidateFunction
}

function create(
  name: string,
  mode: NumberMode,
  own: Options,
  forbidden: Forbidden | undefined,
  { code = {}, onCompiled }: CompilerOptions,
  isExplained = false,
): Compile & { readonly compiler: Compiler } {
  const createOne = (more: Options) => {
    const ajv = createAjv(mode, { ...own, ...more, code })
    if (forbidden !== undefined) forbid(ajv, forbidden)
    return code.source === true ? printing(ajv) : ajv
  }
  const ajv = createOne({})
  const assertions = lazily(() => createOne(everyError))
  const compiler: Compiler = {
    ...{ name, mode, ajv },
    get assertions() {
      return isExplained ? assertions() : undefined
    },
  }
  return {
    ajv,
    compiler,
    compile(schema) {
      const validate = ajv.compile(schema)
      onCompiled?.(validate, compiler)
      return validate
    },
  }
}

// Ajv (8.20) writes each schema as JSON, which has no bigints. Here it writes an empty object, and print.ts
// adds the schema itself.
function printing(ajv: Ajv): Ajv {
  const unwritten = <Each>(schema: Each): Each =>
    typeof schema === 'object'
      ? Object.defineProperty({ ...schema }, 'toJSON', { value: () => ({}) })
      : schema
  const { compile, addSchema } = ajv
  ajv.compile = ((schema: AnySchema) => compile.call(ajv, unwritten(schema))) as Ajv['compile']
  ajv.addSchema = (schema, key) => addSchema.call(ajv, unwritten(schema), key)
  return ajv
}

// Returns a function that compiles schemas which refer to others of the document.
function createReferring(
  name: string,
  mode: NumberMode,
  own: Options,
  forbidden: Forbidden,
  document: object,
  options: CompilerOptions,
): (schema: AnySchema, around?: (schema: AnySchema) => AnySchema) => ValidateFunction {
  const { ajv, compile } = create(name, mode, own, forbidden, options)
  const withReferences = createReferences(ajv, document, compilableWithout(forbidden))
  return (schema, around = (each) => each) => compile(around(withReferences(schema)))
}

// Only parameters are coerced, because they arrive as text.
function createValidators(
  document: object,
  options: CompilerOptions,
): (how: RequestHow, schema: AnySchema) => Validator {
  const own = { ownProperties: true }
  const parameters = create('parameters', 'text', own, undefined, options, true)
  const body = create('body', 'json', own, 'readOnly', options, true)
  const withReferences = createReferences(body.ajv, document, compilableWithout('readOnly'))
  const compileBody = explained(body, (schema) => withReferences(schema))
  const compileParameters = explained(parameters, (schema) => schema)
  const faultyDefaults = createDefaultCheck(document)
  return (how, schema) => {
    const faults = faultyDefaults(requestPlaces[how], schema)
    if (faults.length > 0) throw new Error(faults.join('; '))
    if (how === 'body' || how === 'json' || typeof schema === 'boolean') return compileBody(schema)
    const excused = withExcuses(schema, (each) => each)
    const exact = withEvaluations(compilable(excused, 'text'))
    // Headers and cookies stay open, because proxies and browsers add their own; so do path parameters,
    // because the application's prefix may have some. The contract declares every parameter of a query.
    return compileParameters(how === 'querystring' ? { ...exact, additionalProperties: false } : exact)
  }
}

function explained(
  { ajv, compile, compiler }: ReturnType<typeof create>,
  prepare: (schema: AnySchema) => AnySchema,
): (schema: AnySchema) => Validator {
  // only explained compilers get here
  const explain = createExplain(ajv, compiler.mode, () => compiler.assertions as Ajv)
  return compileOnce((schema) => explaining(compile(prepare(schema)), explain))
}

function lazily<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
