// Prints the functions of a contract's schemas: those that Ajv compiles, in its standalone form, and those
// that write values. Otherwise each start would load two compilers of schemas and run them, which takes half
// of the CPU of a mount. The printed code imports nothing: load.ts hands the runtime to it.

import type { ValidateFunction } from 'ajv'
import { ContractError } from '../../document/contract-error.js'
import type { FunctionName } from '../../document/functions.js'
import { Reader } from '../../document/reader.js'
import { type PrintedJudge, schemaDigest } from '../../plan/code.js'
import { type Compiler, createJudge } from './compilers.js'
import { literalOf } from './literals.js'
import type { NamedSchemas } from './names.js'
import { type Functions, printCompiler } from './print-compiler.js'
import { PrintedWriters } from './print-writers.js'

/** The parts of a contract that are printed. */
interface Printable {
  readonly specification: object
  readonly named: NamedSchemas
}

/**
 * Returns the body of a function that returns the functions of a contract's schemas (`Code` in plan/code.ts).
 */
export function compileCode({ specification, named }: Printable): string {
  const { compilers, judges } = printJudges(specification, named.judges)
  const writers = new PrintedWriters(new Reader(specification))
  for (const [name, schema] of named.writers) writers.add(name, schema)
  return `return {compilers:{${compilers.join()}},
judges:${literalOf(judges)},
writers:${writers}}`
}

function printJudges(document: object, named: NamedSchemas['judges']) {
  const compiled = new Map<Compiler, Functions>()
  const judges: Record<FunctionName, PrintedJudge> = {}
  const compilerOf = new Map<ValidateFunction, Compiler>()
  const judge = createJudge(document, {
    code: { source: true },
    onCompiled: (validate, compiler) => void compilerOf.set(validate, compiler),
  })
  for (const [name, { how, schema }] of named) {
    try {
      const validate = judge(how, schema)
      const compiler = compilerOf.get(validate) as Compiler // onCompiled has set it
      const key = schemaDigest(plain(validate.schema))
      const functions: Functions = compiled.get(compiler) ?? new Map()
      compiled.set(compiler, functions.set(key, validate))
      judges[name] = [compiler.name, key]
    } catch (error) {
      judges[name] = failure(error as Error)
    }
  }
  return {
    compilers: [...compiled].map(([compiler, functions]) => printCompiler(compiler, functions)),
    judges,
  }
}

// Copies the schema without its `toJSON`, which keeps Ajv from writing it (compilers.ts).
function plain(schema: ValidateFunction['schema']): unknown {
  return typeof schema === 'object' ? { ...schema } : schema
}

function failure(error: Error): PrintedJudge {
  return error instanceof ContractError ? { problems: error.problems } : { message: error.message }
}
