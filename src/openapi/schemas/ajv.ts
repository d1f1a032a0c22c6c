// Ajv: instances with the server's keywords and formats, and the preparation of schemas for them.

import type { Ajv, Options, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { stringify } from 'lossless-json'
import type { AnySchema } from '../contract/keywords.js'
import { addAlternatives } from './alternatives.js'
import { addBytes } from './bytes.js'
import { addExactNumber, type NumberMode, withExactNumbers } from './exact-numbers.js'
import { formats } from './formats.js'
import { addNullPrototype, withNullPrototypes } from './inherited-names.js'
import { toRegExp } from './patterns.js'

// Ajv's optimizer is quadratic in the size of a schema, and V8 optimizes the code anyway.
const unoptimized = { optimize: false }

/**
 * An Ajv for OpenAPI schemas. Unknown keywords and formats (`example`, `xml`, `x-*`) are annotations, as in
 * JSON Schema 2020-12; the lint reports misspelt ones.
 */
export function createAjv(mode: NumberMode, options: Options = {}): Ajv {
  const common = { strict: false, logger: false, meta: false, validateSchema: false } as const
  const code = { regExp: Object.assign(toRegExp, { code: 'new RegExp' }), ...unoptimized }
  const ajv = new Ajv2020({ ...common, code, ...options })
  for (const [name, { validate }] of Object.entries(formats)) ajv.addFormat(name, validate)
  addExactNumber(ajv, mode)
  addNullPrototype(ajv, mode)
  addBytes(ajv)
  addAlternatives(ajv)
  return ajv
}

// The meta-schema validator, shared because compiling it takes longer than compiling all schemas of a small
// contract.
const dialect = new Ajv2020({ strict: false, logger: false, code: unoptimized })

/**
 * A schema that Ajv can compile: without `$id`, which must be unique in an Ajv, without `$schema`, and with
 * the server's keywords.
 * @throws {Error} if the schema is invalid
 */
export function compilable<Each extends AnySchema>(schema: Each): Each
export function compilable(schema: AnySchema): AnySchema {
  if (typeof schema === 'boolean') return schema
  const { $id: _, $schema, ...others } = schema
  dialect.validateSchema(others, true)
  return withExactNumbers(withNullPrototypes(others))
}

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
