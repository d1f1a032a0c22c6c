// Defaults are values: one that its own schema does not allow would make each request that leaves it to the server a wrong one.

import type { ErrorObject } from 'ajv'
import { stringify } from 'lossless-json'
import type { Schema } from '../contract/types.js'
import { compileOnce, createAjv } from './ajv.js'
import { type AnySchema, defaultOf, schemaLists, schemaMaps, schemas } from './exact-numbers.js'
import { describeViolations } from './messages.js'

/** Finds the first default in a schema that its own schema does not allow: `the default 200 of query.limit must be at most 100`. */
export function createDefaultCheck(): (part: string, schema: Schema) => string | undefined {
  const ajv = createAjv('check', { useDefaults: true })
  const compile = compileOnce((value) => ajv.compile({ type: 'object', properties: { value } }))
  let count = 0
  // Of what refers to the whole from within, the whole is added, so that it is found.
  const added = (schema: Schema): ((pointer: string) => Schema) => {
    const id = `schema-${count++}`
    ajv.addSchema({ ...schema, $id: id })
    return (pointer) => ({ $ref: id + pointer })
  }
  return (part, schema) => {
    const all = defaultsIn(schema, '#', part)
    if (all.length === 0) return undefined
    const isAlone = !String(stringify(schema)).includes('"$ref":')
    const refer = isAlone ? undefined : added(schema)
    for (const { place, pointer, schema: own } of all) {
      const value = defaultOf(own)
      const validate = compile(refer?.(pointer) ?? own)
      if (!validate({ value: structuredClone(value) })) return faultOf(place, value, validate.errors ?? [])
    }
    return undefined
  }
}

interface Default {
  readonly place: string
  readonly pointer: string
  /** That it is the default of. */
  readonly schema: Schema
}

function faultOf(place: string, value: unknown, all: readonly ErrorObject[]): string {
  const errors = all.map((each) => ({ ...each, instancePath: each.instancePath.replace('/value', '') }))
  return `the default ${stringify(value)} of ${describeViolations(place, errors).join('; ')}`
}

// With the place of what each is for, as messages name it.
function defaultsIn(schema: AnySchema, pointer: string, place: string): Default[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = schema.default === undefined ? [] : [{ place, pointer, schema }]
  const inner = Object.entries(schema).flatMap(([keyword, value]) => {
    if (typeof value !== 'object' || value === null) return []
    const at = `${pointer}/${keyword}`
    if (schemas.includes(keyword)) return defaultsIn(value as AnySchema, at, placeOf(place, keyword))
    if (!schemaLists.includes(keyword) && !schemaMaps.includes(keyword)) return []
    return Object.entries(value as Record<string, AnySchema>).flatMap(([name, each]) =>
      defaultsIn(
        each,
        `${at}/${escaped(name)}`,
        keyword === 'properties' ? `${place}.${name}` : placeOf(place, keyword),
      ),
    )
  })
  return [...own, ...inner]
}

function placeOf(place: string, keyword: string): string {
  if (keyword === 'items' || keyword === 'prefixItems') return `${place}[]`
  return keyword === 'additionalProperties' || keyword === 'patternProperties' ? `${place}.*` : place
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}
