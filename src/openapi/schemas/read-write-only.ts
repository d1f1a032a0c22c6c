// `readOnly` values are only in responses, `writeOnly` values only in requests (JSON Schema Validation, section 9.4).

import type { Ajv } from 'ajv'
import type { Schema } from '../contract/contract.js'
import { compilable } from './ajv.js'
import type { Resolve } from './references.js'
import { type AnySchema, mapSchemas } from './subschemas.js'

/** The keyword that is forbidden: `readOnly` in a request, `writeOnly` in a response. */
export type Forbidden = 'readOnly' | 'writeOnly'

const problems = {
  readOnly: 'is set by the service and must not be sent',
  writeOnly: 'is writeOnly and must not be returned',
}

/** Makes an Ajv reject values whose schema has the forbidden keyword. */
export function forbid(ajv: Ajv, forbidden: Forbidden): void {
  ajv.removeKeyword(forbidden) // Ajv's own is an annotation
  ajv.addKeyword({
    keyword: forbidden,
    schemaType: 'boolean',
    validate: (isForbidden: boolean) => !isForbidden,
    error: { message: problems[forbidden] },
  })
}

/** Prepares schemas for `forbid`: a forbidden property is neither required nor has a default. */
export function compilableWithout(forbidden: Forbidden): (resolve: Resolve) => (schema: Schema) => Schema {
  return (resolve) => {
    const namesOf = createNamesOf(forbidden, resolve)
    const withoutForbidden = (schema: Schema) =>
      mapSchemas(schema, (each) => {
        const plain = each[forbidden] === true ? omit(each, 'default') : each
        const names = namesOf(plain)
        return names.size > 0 ? withoutRequired(plain, names, resolve) : plain
      })
    return (schema) => compilable(withoutForbidden(schema))
  }
}

function omit(schema: Schema, keyword: string): Schema {
  const { [keyword]: _, ...others } = schema
  return others
}

// The forbidden properties of a schema and of its `allOf`.
function createNamesOf(forbidden: Forbidden, resolve: Resolve): (schema: Schema) => ReadonlySet<string> {
  const allOf = (schema: Schema) => ((schema.allOf as Schema[] | undefined) ?? []).map(resolve)
  const isForbidden = once((schema): boolean => schema[forbidden] === true || allOf(schema).some(isForbidden))
  const namesOf = once((schema): ReadonlySet<string> => {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, AnySchema>)
    const own = properties.filter(([, each]) => typeof each === 'object' && isForbidden(resolve(each)))
    return new Set([...own.map(([name]) => name), ...allOf(schema).flatMap((part) => [...namesOf(part)])])
  })
  return namesOf
}

// `required` may be in one subschema and the property in another. A subschema that requires none of the names is returned unchanged.
function withoutRequired(schema: Schema, names: ReadonlySet<string>, resolve: Resolve): Schema {
  const without = once((each): Schema => {
    const changes: Record<string, unknown> = {}
    const required = (each.required ?? []) as string[]
    if (required.some((name) => names.has(name)))
      changes.required = required.filter((name) => !names.has(name))
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const given = (each[keyword] ?? []) as Schema[]
      const parts = given.map((part) => {
        const target = resolve(part)
        const stripped = without(target)
        return stripped === target ? part : stripped
      })
      if (parts.some((part, i) => part !== given[i])) changes[keyword] = parts
    }
    return Object.keys(changes).length > 0 ? { ...each, ...changes } : each
  })
  return without(schema)
}

// Memoized, because many schemas share their subschemas.
function once<Result>(compute: (schema: Schema) => Result): (schema: Schema) => Result {
  const results = new WeakMap<Schema, Result>()
  return (schema) => {
    const known = results.get(schema)
    if (known !== undefined) return known
    const result = compute(schema)
    results.set(schema, result)
    return result
  }
}
