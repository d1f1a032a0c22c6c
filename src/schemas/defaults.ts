// Defaults are values: one that its own schema does not allow would make each request that leaves it to the server a wrong one.

import type { ErrorObject } from 'ajv'
import { stringify } from 'lossless-json'
import type { Schema } from '../contract/types.js'
import { rounded } from '../contract/upgrade.js'
import { compileOnce, createAjv } from './ajv.js'
import { resolveIn } from './alternatives.js'
import { type AnySchema, defaultOf, schemaLists, schemaMaps, schemas } from './exact-numbers.js'
import { describeViolations } from './messages.js'
import { compilableWithout } from './read-write-only.js'
import { createReferences } from './references.js'

/**
 * Finds the defaults in schemas of requests that their own schemas do not allow: `the default 200 of query.limit must be at most 100`.
 * What several refer to is told of once.
 */
export function createDefaultCheck(document: object): (part: string, schema: AnySchema) => string[] {
  const ajv = createAjv('check', { useDefaults: true })
  const compile = compileOnce((value) => ajv.compile({ type: 'object', properties: { value } }))
  const withReferences = createReferences(ajv, document, compilableWithout('readOnly'))
  const faultOf = ({ place, schema }: Default): string[] => {
    const value = defaultOf(schema)
    // Ajv writes defaults into code as JSON.
    if (typeof value === 'object' && rounded(value) !== value)
      return [
        `the default ${stringify(value)} of ${place} holds an integer beyond 2^53, which only the default of that integer itself can be`,
      ]
    const validate = compile(schema)
    try {
      return validate({ value: structuredClone(value) }) ? [] : [inWords(place, value, validate.errors ?? [])]
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return [`the default ${stringify(value)} of ${place} gets itself, by a default, without end`]
    }
  }
  const resolve = resolveIn(ajv)
  const seen = new Set<string>()
  // With the place of what each is for, as messages name it.
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
  /** That it is the default of. */
  readonly schema: Schema
}

function inWords(place: string, value: unknown, all: readonly ErrorObject[]): string {
  const errors = all.map((each) => ({ ...each, instancePath: each.instancePath.replace('/value', '') }))
  return `the default ${stringify(value)} of ${describeViolations(place, errors).join('; ')}`
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
