// Resolves `$ref`s of schemas that were added to an Ajv, or printed (plan/code.ts).

import type { Schema } from '../document/contract.js'

/**
 * Returns the target of a schema's `$ref`; the schema itself if it has no `$ref`, or if the target is `true`
 * or `false`.
 */
export type Resolve = (schema: Schema) => Schema

/** The schemas that were added to an Ajv, by their names. */
export interface Added {
  readonly schemas: { readonly [name: string]: { readonly schema: unknown } | undefined }
}

/** Returns a function that resolves a schema's `$ref` among the schemas added to an Ajv. */
export function resolveIn(ajv: Added): Resolve {
  const resolve: Resolve = (schema) => {
    const target = typeof schema.$ref === 'string' ? ajv.schemas[schema.$ref]?.schema : undefined
    return typeof target === 'object' ? resolve(target as Schema) : schema
  }
  return resolve
}
