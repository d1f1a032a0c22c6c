// Validates defaults against their own schemas: with an invalid default, every request that relies on it
// would fail.

import type { ErrorObject } from 'ajv'
import { stringify } from 'lossless-json'
import type { Schema } from '../../document/contract.js'
import type { Validator } from '../../document/functions.js'
import { type AnySchema, type Subschema, subschemasOf } from '../../document/keywords.js'
import { createExplain, everyError, explaining } from '../../runtime/explain.js'
import { describeViolations } from '../../runtime/messages.js'
import { compileOnce } from '../../runtime/once.js'
import { type Resolve, resolveIn } from '../../runtime/references.js'
import { createAjv } from './ajv.js'
import { compilableWithout } from './read-write-only.js'
import { createReferences } from './references.js'

/**
 * Returns a function that lists the invalid defaults in a request schema: `the default 200 is invalid:
 * query.limit must be at most 100`. A fault in a schema that several others refer to is reported once.
 */
export function createDefaultCheck(document: object): (part: string, schema: AnySchema) => string[] {
  const ajv = createAjv('json', { ownProperties: true })
  const explain = createExplain(ajv, 'json', () => createAjv('json', { ownProperties: true, ...everyError }))
  const compile = compileOnce((value) =>
    explaining(ajv.compile({ type: 'object', properties: { value } }), explain),
  )
  const withReferences = createReferences(ajv, document, compilableWithout('readOnly'))
  const resolve = resolveIn(ajv)
  const seen = new Set<string>()
  return (part, schema) => {
    const prepared = withReferences(schema)
    if (typeof prepared !== 'object') return []
    const faults = defaultsIn(prepared, part, resolve, seen).map((each) => faultOf(each, compile))
    return [...new Set(faults)].filter((each) => each !== undefined)
  }
}

type Compile = (schema: AnySchema) => Validator

interface Default {
  readonly place: string
  readonly schema: Schema
}

// Looks into the target of each `$ref` once: `seen` has the references that were followed.
function defaultsIn(whole: Schema, part: string, resolve: Resolve, seen: Set<string>): Default[] {
  const found: Default[] = []
  const pending: Default[] = [{ place: part, schema: whole }]
  for (let each = pending.pop(); each !== undefined; each = pending.pop()) {
    const { place, schema } = each
    if (schema.default !== undefined) found.push(each)
    const inner = subschemasOf(schema).map((one) => ({ place: placeOf(place, one), schema: one.schema }))
    pending.push(...inner.reverse())
    if (typeof schema.$ref === 'string' && !seen.has(schema.$ref)) {
      seen.add(schema.$ref)
      pending.push({ place, schema: resolve(schema) })
    }
  }
  return found
}

function faultOf({ place, schema }: Default, compile: Compile): string | undefined {
  const value = schema.default
  const named = `the default ${stringify(value)}`
  const validate = compile(schema)
  try {
    const given = { value: structuredClone(value) }
    return validate(given)
      ? undefined
      : `${named} is invalid: ${violationsOf(place, validate.explain(given))}`
  } catch (error) {
    if (!(error instanceof RangeError)) throw error // the stack has overflowed
    return `${named} of ${place} is endless: the defaults of its schema fill it with itself`
  }
}

function violationsOf(place: string, all: readonly ErrorObject[]): string {
  const errors = all.map((each) => ({ ...each, instancePath: each.instancePath.replace('/value', '') }))
  return describeViolations(place, errors).join('; ')
}

// Returns the place of a subschema's value, as messages name it.
function placeOf(place: string, { keyword, name, appliesTo }: Subschema): string {
  if (keyword === 'properties') return `${place}.${name}`
  if (appliesTo !== 'members' || keyword === 'propertyNames') return place
  return /properties$/i.test(keyword) ? `${place}.*` : `${place}[]`
}
