// Results of schemas, each computed once.

import type { ValidateFunction } from 'ajv'
import { stringify } from 'lossless-json'
import type { Schema } from '../document/contract.js'
import type { AnySchema } from '../document/keywords.js'

/** Returns a function that computes a result once for each object: many schemas share their parts. */
export function once<Result, Of extends object = Schema>(compute: (of: Of) => Result): (of: Of) => Result {
  const results = new WeakMap<Of, Result>()
  return (of) => {
    const known = results.get(of)
    if (known !== undefined) return known
    const result = compute(of)
    results.set(of, result)
    return result
  }
}

/**
 * Returns a function that compiles equal schemas once: most operations share headers, parameters and errors.
 */
export function compileOnce<Each extends AnySchema, Validate extends ValidateFunction>(
  compile: (schema: Each) => Validate,
): typeof compile {
  const compiled = new Map<string, Validate>()
  return (schema) => {
    const text = String(stringify(schema))
    const validate = compiled.get(text) ?? compile(schema)
    compiled.set(text, validate)
    return validate
  }
}
