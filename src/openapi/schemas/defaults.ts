// Validates defaults against their own schemas. Without this, every request that relies on an invalid default would fail.

import type { ErrorObject } from 'ajv'
import { stringify } from 'lossless-json'
import type { Schema } from '../contract/contract.js'
import { rounded } from '../contract/upgrade.js'
import { compileOnce, createAjv } from './ajv.js'
import { resolveIn } from './alternatives.js'
import { defaultOf } from './exact-numbers.js'
import { describeViolations } from './messages.js'
import { compilableWithout } from './read-write-only.js'
import { createReferences } from './references.js'
import { type AnySchema, schemaLists, schemaMaps, schemas } from './subschemas.js'

/**
 * A function that returns the invalid defaults in a request schema: `the default 200 is invalid: query.limit must be at most 100`. A
 * schema that several others refer to is reported once.
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
  const seen = new Set<string>()
  // The place is that of the value, as messages name it.
  const defaultsIn = (schema: AnySchema, place: string): Default[] => {
    if (typeof schema !== 'object' || schema === null) return []
    const own = schema.default === undefined ? [] : [{ place, schema }]
    if (typeof schema.$ref === 'string') {
      if (seen.has(schema.$ref)) return own
      seen.add(schema.$ref)
      return [...own, ...defaultsIn(resolve(schema), place)]
    }
    return [...own, ...innerOf(schema, place).flatMap(([each, at]) => defaultsIn(each, at))]
  }
  return (part, schema) => {
    const faults = defaultsIn(withReferences(schema), part).flatMap(faultOf)
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

function innerOf(schema: Schema, place: string): (readonly [schema: AnySchema, place: string])[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (typeof value !== 'object' || value === null) return []
    if (schemas.includes(keyword)) return [[value as AnySchema, placeOf(place, keyword)] as const]
    if (!schemaLists.includes(keyword) && !schemaMaps.includes(keyword)) return []
    return Object.entries(value as Record<string, AnySchema>).map(([name, each]) => {
      const at = keyword === 'properties' ? `${place}.${name}` : placeOf(place, keyword)
      return [each, at] as const
    })
  })
}

function placeOf(place: string, keyword: string): string {
  if (keyword === 'items' || keyword === 'prefixItems') return `${place}[]`
  return keyword === 'additionalProperties' || keyword === 'patternProperties' ? `${place}.*` : place
}
