// The functions that judge the values of a contract's schemas, and write them.

import type { ErrorObject, ValidateFunction } from 'ajv'

// As in keywords.ts, whose type is made of the contract's.
type AnySchema = boolean | { readonly [keyword: string]: unknown }

/** A compiled schema that explains what it has refused. */
export interface Validator extends ValidateFunction {
  explain(value: unknown): ErrorObject[]
}

/**
 * Accepts a body and writes it in one pass: the JSON of one that its schema allows, or undefined if it cannot
 * tell.
 */
export type Accept = (body: unknown) => string | undefined

/**
 * Judges a part of a request and reads it in one pass: whether it is valid, and has been changed as its
 * schema says. If it cannot tell, it says no, and has changed nothing.
 */
export type Read = (part: unknown) => boolean

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
  /** The JSON of a response's value, by a schema of response-schemas.ts. */
  readonly writer: (schema: object) => (value: unknown) => string
  /** Of a body for which there is a `writer`; undefined if nothing was printed for it. */
  readonly acceptance: (schema: AnySchema) => Accept | undefined
}
