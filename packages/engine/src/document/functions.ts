// The functions of a contract's schemas. Each part of the contract that is judged or written has the name of
// its function, so that the server needs no schema.

import type { ErrorObject, ValidateFunction } from 'ajv'

export type FunctionName = string

/** A compiled schema that explains what it has refused. */
export interface Validator extends ValidateFunction {
  explain(value: unknown): ErrorObject[]
}

/** Writes a value that its schema allows as JSON. Returns undefined for a value that JSON does not have. */
export type WriteJson = (value: unknown) => string | undefined

/** Returns functions whose validators are the judges. */
export function withValidators({ judge, writer }: Omit<Functions, 'validator'>): Functions {
  // the judges of requests explain
  const validator: Functions['validator'] = (name) => judge(name) as Validator
  return { judge, writer, validator }
}

/** The functions by name. Each method throws if the schema does not compile. */
export interface Functions {
  readonly judge: (name: FunctionName) => ValidateFunction
  /** For the parts of a request. */
  readonly validator: (name: FunctionName) => Validator
  readonly writer: (name: FunctionName) => WriteJson
}
