// What goes one way only: `readOnly` is in answers and never in requests, `writeOnly` the other way round (OpenAPI
// 3.1, via JSON Schema Validation, section 9.4).

import type { Ajv } from 'ajv'
import type { Schema } from '../contract/types.js'
import { compilable } from './ajv.js'
import { type AnySchema, mapSchemas } from './exact-numbers.js'
import type { Resolve } from './references.js'

/** What must not be there: `readOnly` in a request, `writeOnly` in an answer. */
export type Forbidden = 'readOnly' | 'writeOnly'

const problems = { readOnly: 'is set by the service and must not be sent', writeOnly: 'must not be answered' }

/** Teaches Ajv to refuse what goes the other way. */
export function forbid(ajv: Ajv, forbidden: Forbidden): void {
  ajv.removeKeyword(forbidden) // to Ajv it is an annotation
  ajv.addKeyword({
    keyword: forbidden,
    schemaType: 'boolean',
    validate: (isForbidden: boolean) => !isForbidden,
    error: { message: problems[forbidden] },
  })
}

/** What prepares schemas that are to refuse what is forbidden: there it is neither required nor has a default. */
export function compilableWithout(forbidden: Forbidden): (resolve: Resolve) => (schema: Schema) => Schema {
  return (resolve) => {
    const namesOf = createNamesOf(forbidden, resolve)
    const withoutForbidden = (schema: Schema) =>
      mapSchemas(schema, (each) => {
        const plain = each[forbidden] === true ? omit(each, 'default') : each
        const names = namesOf(plain)
        return names.size > 0 ? withoutRequired(plain, names, resolve) : plain
      })
    return (schema) => compilable(withoutForbidden(schema) as Schema)
  }
}

function omit(schema: Schema, keyword: string): Schema {
  const { [keyword]: _, ...others } = schema
  return others
}

// The fields of a schema, and of what it is made of, that are forbidden.
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

// `required` may stand in one part and the property in another. A part that requires none of the names stays as it is.
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

// A part that many others have in common is looked at once.
function once<Found>(look: (schema: Schema) => Found): (schema: Schema) => Found {
  const found = new WeakMap<Schema, Found>()
  return (schema) => {
    const known = found.get(schema)
    if (known !== undefined) return known
    const value = look(schema)
    found.set(schema, value)
    return value
  }
}
