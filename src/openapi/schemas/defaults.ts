// Validates defaults against their own schemas. Without this, every request that relies on an invalid default
// would fail.

import type { ErrorObject } from 'ajv'
import { stringify } from 'lossless-json'
import type { Schema } from '../contract/contract.js'
import { type AnySchema, type Subschema, subschemasOf } from '../contract/keywords.js'
import { rounded } from '../contract/upgrade.js'
import { compileOnce, createAjv } from './ajv.js'
import { resolveIn } from './alternatives.js'
import { defaultOf } from './exact-numbers.js'
import { describeViolations } from './messages.js'
import { compilableWithout } from './read-write-only.js'
import { createReferences } from './references.js'

/**
 * A function that returns the invalid defaults in a request schema: `the default 200 is invalid: query.limit
 * must be at most 100`. A schema that several others refer to is reported once.
 */
export function createDefaultCheck(document: object): (part: string, schema: AnySchema) => string[] {
  const ajv = createAjv('check', { useDefaults: true })
  const compile = compileOnce((value) => ajv.compile({ type: 'object', properties: { value } }))
  const withReferences = createReferences(ajv, document, compilableWithout('readOnly'))
  const faultOf = ({ place, schema }: Default): string[] => {
    const value = defaultOf(schema)
    // Ajv writes defaults into the generated code as JSON, which rounds bigints.
    if (typeof value === 'object' && rounded(value) !== value)
      return [
        `the default ${stringify(value)} of ${place} contains an integer beyond 2^53: set it as the default in the schema of that integer`,
      ]
    const validate = compile(schema)
    try {
      return validate({ value: structuredClone(value) })
        ? []
        : [describe(place, value, validate.errors ?? [])]
    } catch (error) {
      if (!(error instanceof RangeError)) throw error // the stack overflows
      return [
        `the default ${stringify(value)} of ${place} is endless: the defaults of its schema fill it with itself`,
      ]
    }
  }
  const resolve = resolveIn(ajv)
  const seen = new Set<unknown>()
  const defaultsIn = (whole: Schema, part: string): Default[] => {
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
  return (part, schema) => {
    const prepared = withReferences(schema)
    const faults = (typeof prepared === 'object' ? defaultsIn(prepared, part) : []).flatMap(faultOf)
    return [...new Set(faults)]
  }
}

interface Default {
  readonly place: string
  readonly schema: Schema
}

function describe(place: string, value: unknown, all: readonly ErrorObject[]): string {
  const errors = all.map((each) => ({ ...each, instancePath: each.instancePath.replace('/value', '') }))
  return `the default ${stringify(value)} is invalid: ${describeViolations(place, errors).join('; ')}`
}

// The place of a subschema's value, as messages name it.
function placeOf(place: string, { keyword, name, appliesTo }: Subschema): string {
  if (keyword === 'properties') return `${place}.${name}`
  if (appliesTo !== 'members' || keyword === 'propertyNames') return place
  return /properties$/i.test(keyword) ? `${place}.*` : `${place}[]`
}
