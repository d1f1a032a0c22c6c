// Creates Ajv instances with the server's keywords and formats, and prepares schemas for them.

import { _, type Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, ofOtherDrafts, schemasIn } from '../../document/keywords.js'
import { toRegExp } from '../../document/patterns.js'
import { changing } from '../../runtime/changes.js'
import type { NumberMode } from '../../runtime/exact-numbers.js'
import { formats } from '../../runtime/formats.js'
import { addAlternatives } from './alternatives.js'
import { addBytes } from './bytes-keyword.js'
import { addDefaults } from './default-keywords.js'
import { addUnevaluated } from './evaluated-keywords.js'
import { addExactNumber } from './exact-number-keyword.js'
import { withConditions, withExactNumbers } from './exact-numbers.js'
import { addNullPrototype, withNullPrototypes } from './null-prototype-keyword.js'
import { replaceKeyword } from './replaced-keyword.js'
import { addSteps, stepsOfSchemas, withSteps } from './step-keyword.js'
import { addTextKeywords } from './text-keywords.js'
import { addUniqueItems } from './unique-items.js'
import { addValues } from './values.js'

// Ajv's optimizer is quadratic in the size of a schema, and V8 optimizes the code anyway.
const unoptimized = { optimize: false }

/**
 * Returns an Ajv for OpenAPI schemas. Unknown keywords and formats (`example`, `xml`, `x-*`) are annotations,
 * as in JSON Schema 2020-12; the lint reports misspelt ones.
 */
export function createAjv(mode: NumberMode, options: Options = {}): Ajv {
  const common = { strict: false, logger: false, meta: false, validateSchema: false } as const
  const regExp = Object.assign(toRegExp, { code: 'runtime["toRegExp"]' })
  const code = { regExp, formats: _`runtime["formats"]`, ...unoptimized, ...options.code }
  const ajv = new Ajv2020({ ...common, ...options, code })
  for (const [name, { validate }] of Object.entries(formats)) ajv.addFormat(name, validate)
  addTextKeywords(ajv)
  addExactNumber(ajv, mode)
  addNullPrototype(ajv, mode)
  addBytes(ajv)
  addAlternatives(ajv, mode)
  addUniqueItems(ajv)
  addValues(ajv)
  addUnevaluated(ajv)
  // Last: until its first error, Ajv (8.20) skips the keywords after `prefixItems` if an array has fewer
  // items.
  replaceKeyword(ajv, 'prefixItems', (_cxt, own) => own())
  if (mode !== 'check') addDefaults(ajv)
  addSteps(ajv)
  changeOnceValid(ajv)
  return ajv
}

// Ajv's own `useDefaults` and `coerceTypes` would change a value while it is judged.
function changeOnceValid(ajv: Ajv): void {
  const compile = ajv.compile.bind(ajv) as (schema: AnySchema) => ValidateFunction
  const stepsOf = stepsOfSchemas(ajv)
  ajv.compile = ((schema: AnySchema) => changing(compile(schema), () => stepsOf(schema))) as Ajv['compile']
}

// The validator of the meta-schema. It is shared: compiling it takes longer than compiling all schemas of a
// small contract.
const dialect = new Ajv2020({ strict: false, logger: false, code: unoptimized })

/**
 * Returns a schema that Ajv can compile: with the server's keywords, without `$schema`, and without `$id`,
 * which must be unique in an Ajv.
 * @throws {Error} if the schema is invalid
 */
export function compilable<Each extends AnySchema>(schema: Each, mode?: NumberMode): Each
export function compilable(schema: AnySchema, mode: NumberMode = 'json'): AnySchema {
  if (typeof schema === 'boolean') return schema
  const { $id: _, $schema, ...others } = schema
  checkDialect(others)
  return withSteps(withConditions(withExactNumbers(withNullPrototypes(others), mode)))
}

// Ajv would look up `$recursiveRef` in the schema that it compiles, and the meta-schema only requires
// `$recursiveAnchor` to be a string.
function checkDialect(schema: Schema): void {
  for (const name of ['$recursiveAnchor', '$recursiveRef'])
    if (schemasIn(schema).some((each) => name in each))
      throw new Error(`${name} is of another draft of JSON Schema: write ${ofOtherDrafts.get(name)}`)
  dialect.validateSchema(schema, true)
}
