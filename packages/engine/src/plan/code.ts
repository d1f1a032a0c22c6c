// The form of the functions that a contract's printed code returns: print.ts writes the code, load.ts runs
// it.

import { createHash } from 'node:crypto'
import type { ValidateFunction } from 'ajv'
import { stringify } from 'lossless-json'
import type { Problem } from '../document/contract-error.js'
import type { FunctionName, WriteJson } from '../document/functions.js'
import type { Defaulting } from '../runtime/defaulted.js'
import type { NumberMode } from '../runtime/exact-numbers.js'
import type { Added, Resolve } from '../runtime/references.js'
import type { Runtime } from '../runtime/runtime.js'

/** The parts are functions, so that nothing is created before it is needed. */
export interface Code {
  readonly compilers: Readonly<Record<string, PrintedCompiler>>
  readonly judges: Readonly<Record<FunctionName, PrintedJudge>>
  readonly writers: (runtime: Runtime) => Readonly<Record<FunctionName, WriteJson>>
}

/** Loads a module that the code requires. */
export type Require = (name: string) => unknown

/** The compiler of a function, and the key of the function there; or why the schema does not compile. */
export type PrintedJudge =
  | readonly [compiler: string, key: string]
  | { readonly problems: readonly Problem[] }
  | { readonly message: string }

/** The functions of a compiler. */
export interface PrintedCompiler {
  readonly mode: NumberMode
  /** The keywords that the compiler knows. */
  readonly keywords: Readonly<Record<string, true>>
  readonly functions: CreateFunctions
  /** The functions that explain refused values, if refusals are explained. */
  readonly assertions?: CreateFunctions
}

export type CreateFunctions = (
  runtime: Runtime,
  require: Require,
  resolveIn: (added: Added) => Resolve,
  defaulting: Defaulting,
) => PrintedFunctions

/** By the keys of schemas. */
export interface PrintedFunctions extends Added {
  readonly exports: Readonly<Record<string, ValidateFunction>>
  readonly steps: Readonly<Record<string, number>>
  readonly roots: Readonly<Record<string, ValidateFunction['schema']>>
}

/** Returns the key of a schema, and of how it is judged. The key may be a part of a JavaScript identifier. */
export function schemaDigest(schema: unknown, ...how: readonly (string | undefined)[]): string {
  const text = `${how.join(' ')}\n${stringify(schema)}`
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
