// Defaults are values: one that its own schema does not allow would make each request that leaves it to the server a wrong one.

import type { Ajv } from 'ajv'
import { stringify } from 'lossless-json'
import type { Schema } from '../contract/types.js'
import { createAjv } from './ajv.js'
import { type AnySchema, defaultOf, schemaLists, schemaMaps, schemas } from './exact-numbers.js'
import { describeViolations } from './messages.js'

/** Finds the first default in a schema that its own schema does not allow: `the default 200 of query.limit must be at most 100`. */
export function createDefaultCheck(): (part: string, schema: Schema) => string | undefined {
  const ajv = createAjv('check', { useDefaults: true })
  const known = new Map<string, string | undefined>()
  let count = 0
  return (part, schema) => {
    const all = defaultsIn(schema, '#', part)
    if (all.length === 0) return undefined
    const key = part + stringify(schema)
    if (!known.has(key)) {
      // So that what refers to the whole from within finds it.
      const id = `schema-${count++}`
      ajv.addSchema({ ...schema, $id: id })
      known.set(key, firstFault(ajv, id, all))
    }
    return known.get(key)
  }
}

interface Default {
  readonly place: string
  readonly pointer: string
  readonly value: unknown
}

function firstFault(ajv: Ajv, id: string, all: readonly Default[]): string | undefined {
  for (const { place, pointer, value } of all) {
    const validate = ajv.compile({ type: 'object', properties: { value: { $ref: id + pointer } } })
    if (validate({ value: structuredClone(value) })) continue
    const errors = (validate.errors ?? []).map((each) => ({
      ...each,
      instancePath: each.instancePath.replace('/value', ''),
    }))
    return `the default ${stringify(value)} of ${describeViolations(place, errors).join('; ')}`
  }
  return undefined
}

// With the place of what each is for, as messages name it.
function defaultsIn(schema: AnySchema, pointer: string, place: string): Default[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = schema.default === undefined ? [] : [{ place, pointer, value: defaultOf(schema) }]
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
