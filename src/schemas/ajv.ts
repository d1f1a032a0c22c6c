// The Ajv instances that everything is validated with.

import type { Ajv, Options, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { stringify } from 'lossless-json'
import { addAlternatives } from './alternatives.js'
import { addBytes } from './bytes.js'
import { type AnySchema, addExactNumber, type NumberMode, withExactNumbers } from './exact-numbers.js'
import { addBare, withBare } from './field-names.js'

// Dates and times that RFC 3339 allows and PostgreSQL cannot store: of the year 0, or with an offset of 16 hours or more.
const beyondDatabase = /^0000|[+-](1[6-9]|2\d):?\d\d$/

// Ajv's own optimising takes the square of a schema's size, and V8 does it anyway.
const unoptimized = { optimize: false }

/**
 * An Ajv for OpenAPI's schemas: keywords and formats that it does not know (`example`, `xml`, `x-*`) are
 * annotations, as JSON Schema 2020-12 has it; misspelt ones are the lint's to find.
 */
export function createAjv(mode: NumberMode, options: Options = {}): Ajv {
  const common = { strict: false, logger: false, meta: false, validateSchema: false } as const
  const code = { regExp: Object.assign(toRegExp, { code: 'new RegExp' }), ...unoptimized }
  const ajv = new Ajv2020({ ...common, allErrors: true, verbose: true, code, ...options })
  ajvFormats.default(ajv)
  for (const name of ['date', 'date-time'] as const) {
    const { validate } = ajvFormats.default.get(name) as { validate(text: string): boolean }
    ajv.addFormat(name, (text) => validate(text) && !beyondDatabase.test(text))
  }
  addExactNumber(ajv, mode)
  addBare(ajv, mode)
  addBytes(ajv)
  addAlternatives(ajv)
  return ajv
}

// Many patterns escape what needs none, such as `\-`, which JavaScript does not know under the flag `u`.
function toRegExp(pattern: string, flags: string): RegExp {
  const portable = pattern.replace(/\\(.)/gsu, (whole, character: string) =>
    /[\w^$\\.*+?()[\]{}|/]/u.test(character) && character !== '_'
      ? whole
      : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
  try {
    return new RegExp(portable, flags)
  } catch (error) {
    throw new Error(`the pattern ${pattern} is no regular expression of JavaScript`, { cause: error })
  }
}

// What a schema may be, for every Ajv: compiling that takes longer than all the schemas of a small contract.
const dialect = new Ajv2020({ strict: false, logger: false, code: unoptimized })

/**
 * A schema as Ajv can compile it: without a name of its own, which only one in an Ajv may have, and in the one dialect.
 * @throws {Error} when it is no schema
 */
export function compilable<Each extends AnySchema>(schema: Each): Each
export function compilable(schema: AnySchema): AnySchema {
  if (typeof schema === 'boolean') return schema
  const { $id: _, $schema, ...others } = schema
  dialect.validateSchema(others, true)
  return withExactNumbers(withBare(others))
}

/** Compiles schemas, those that are alike once: most operations share their headers, parameters and errors. */
export function compileOnce<Each extends AnySchema>(
  compile: (schema: Each) => ValidateFunction,
): typeof compile {
  const made = new Map<string, ValidateFunction>()
  return (schema) => {
    const text = String(stringify(schema))
    const validate = made.get(text) ?? compile(schema)
    made.set(text, validate)
    return validate
  }
}
