// The functions of a contract's schemas. Whatever of the contract is judged or written has the name of its
// function, so that serving asks for no schema.

import type { ErrorObject, ValidateFunction } from 'ajv'

export type FunctionName = string

/** A compiled schema that explains what it has refused. */
export interface Validator extends ValidateFunction {
  explain(value: unknown): ErrorObject[]
}

/** Writes a value that its schema allows as JSON; undefined of what JSON does not have. */
export type WriteJson = (value: unknown) => string | undefined

/** Functions, of which the validators are judges. */
export function withValidators({ judge, writer }: Omit<Functions, 'validator'>): Functions {
  const validator: Functions['validator'] = (name) => judge(name) as Validator // it explains, as requests' do
  return { judge, writer, validator }
}

/** By name. Each method throws if the schema does not compile. */
export interface Functions {
  readonly judge: (name: FunctionName) => ValidateFunction
  /** Of what a request has. */
  readonly validator: (name: FunctionName) => Validator
  readonly writer: (name: FunctionName) => WriteJson
}
