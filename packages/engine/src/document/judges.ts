// The functions that judge the values of a contract's schemas, and write them.

import type { ErrorObject, ValidateFunction } from 'ajv'

// As in keywords.ts, whose type is made of the contract's.
type AnySchema = boolean | { readonly [keyword: string]: unknown }

/** A compiled schema that explains what it has refused. */
export interface Validator extends ValidateFunction {
  explain(value: unknown): ErrorObject[]
}

/** Writes a value that its schema allows as JSON; undefined of what JSON does not have. */
export type WriteJson = (value: unknown) => string | undefined

/** By schema. Each throws if it is invalid. */
export interface Judges {
  /** Of a part of a request, by Fastify's name for it; `json`: of a parameter whose `content` is JSON. */
  readonly request: (schema: AnySchema, httpPart: string | undefined) => Validator
  /** Of a header of a response, which is the `value` of an object. */
  readonly responseHeader: (schema: AnySchema) => ValidateFunction
  readonly responseBody: (schema: AnySchema) => ValidateFunction
  /** Of what a receiver responds, which is the `body` of an object. */
  readonly received: (schema: AnySchema) => ValidateFunction
  readonly requestId: (schema: AnySchema) => ValidateFunction
  readonly writer: (schema: AnySchema) => WriteJson
}
