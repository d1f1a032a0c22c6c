// Compiled schemas.

import type { ValidateFunction } from 'ajv'
import { stringify } from 'lossless-json'
import type { AnySchema } from '../document/keywords.js'

/** Compiles equal schemas once: most operations share headers, parameters and errors. */
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
