// Loads the functions of a contract's schemas from the code that print.ts has printed. It compiles nothing.

import { compileFunction } from 'node:vm'
import type { ValidateFunction } from 'ajv'
import ucs2lengthModule from 'ajv/dist/runtime/ucs2length.js'
import { ContractError } from '../../document/contract-error.js'
import { type FunctionName, type Functions, withValidators } from '../../document/functions.js'
import type { AnySchema } from '../../document/keywords.js'
import { type Code, type PrintedCompiler, type PrintedFunctions, schemaDigest } from '../../plan/code.js'
import { changing } from '../../runtime/changes.js'
import type { NumberMode } from '../../runtime/exact-numbers.js'
import { createExplain, explaining, type Known } from '../../runtime/explain.js'
import { resolveIn } from '../../runtime/references.js'
import { runtime } from '../../runtime/runtime.js'

const ofAnother = 'the code is that of another contract: compile it again'

/** Evaluates the text of a plan's code. `import` would need a file. */
export function codeIn(text: string): Code {
  return compileFunction(text, [], { filename: 'contract.plan' })() as Code // print.ts wrote it
}

/** Returns the functions of a contract's code. */
export function loadFunctions(code: Code): Functions {
  const loaded = new Map<string, Compiled>()
  let writers: ReturnType<Code['writers']> | undefined
  const judge = (name: FunctionName): ValidateFunction => {
    const found = printedOf(code.judges, name)
    if ('problems' in found) throw new ContractError(found.problems)
    if ('message' in found) throw new Error(found.message)
    const [compiler, key] = found
    // The cast: the printer has printed each compiler that it names.
    const compiled = loaded.get(compiler) ?? load(code.compilers[compiler] as PrintedCompiler)
    loaded.set(compiler, compiled)
    return compiled(key)
  }
  return withValidators({
    judge,
    writer: (name) => {
      writers ??= code.writers(runtime)
      return printedOf(writers, name)
    },
  })
}

function printedOf<Printed>(all: Readonly<Record<FunctionName, Printed>>, name: FunctionName): Printed {
  const found = all[name]
  if (found === undefined) throw new Error(ofAnother)
  return found
}

/** Returns the validator of a key. */
type Compiled = (key: string) => ValidateFunction

function load({ mode, keywords, functions, assertions }: PrintedCompiler): Compiled {
  const compiled = new Map<string, ValidateFunction>()
  const validatorOf: Compiled = (key) => {
    const validate = compiled.get(key) ?? explained(judging(printed, key))
    compiled.set(key, validate)
    return validate
  }
  const compile = (schema: AnySchema) => validatorOf(schemaDigest(schema))
  const defaulting = { defaulted: new Set<string>(), compile }
  const printed = functions(runtime, require, resolveIn, defaulting)
  const known = { schemas: printed.schemas, RULES: { all: keywords } }
  const explained =
    assertions === undefined
      ? same
      : explainer(known, mode, () => assertions(runtime, require, resolveIn, defaulting))
  return validatorOf
}

const same = (validate: ValidateFunction) => validate

function explainer(known: Known, mode: NumberMode, createAssertions: () => PrintedFunctions): typeof same {
  const explain = createExplain(known, mode, () => {
    const printed = createAssertions()
    return { compile: (schema) => judging(printed, schemaDigest(schema)) }
  })
  return (validate) => explaining(validate, explain)
}

// Returns a validator that judges in a bounded number of steps and changes valid values, like those that Ajv
// compiles (schemas/ajv.ts).
function judging(printed: PrintedFunctions, key: string): ValidateFunction {
  const validate = printed.exports[`r${key}`]
  if (validate === undefined) throw new Error(ofAnother)
  const schema = printed.roots[`r${key}`] as ValidateFunction['schema']
  // Fastify (5.12) passes the place of a value only to functions with a `schemaEnv`; a body is changed at its
  // place.
  return changing(
    Object.assign(validate, { schema, schemaEnv: { schema } }),
    () => printed.steps[`r${key}`] ?? 0,
  )
}

const modules: Readonly<Record<string, unknown>> = {
  'ajv/dist/runtime/ucs2length': ucs2lengthModule,
}

// Returns the modules of Ajv that the printed code needs at run time.
function require(name: string): unknown {
  if (modules[name] === undefined) throw new Error(`the code requires ${name}`)
  return modules[name]
}

// By default, a new Fastify (5.12) loads two compilers of schemas.

/** Options for a Fastify that has only routes of contracts, whose functions are already compiled. */
export const withoutCompilers = {
  schemaController: { compilersFactory: { buildValidator: none, buildSerializer: none } },
}

function none() {
  return (): never => {
    throw new Error('the route has a schema, and the server compiles none')
  }
}
