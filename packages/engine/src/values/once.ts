// Results of schemas.

import type { Schema } from '../document/contract.js'

/** Computes a result once for each schema: many schemas share their parts. */
export function once<Result>(compute: (schema: Schema) => Result): (schema: Schema) => Result {
  const results = new WeakMap<Schema, Result>()
  return (schema) => {
    const known = results.get(schema)
    if (known !== undefined) return known
    const result = compute(schema)
    results.set(schema, result)
    return result
  }
}
