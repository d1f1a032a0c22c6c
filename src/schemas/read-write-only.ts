// What goes one way only: `readOnly` is in answers and never in requests, `writeOnly` the other way round (OpenAPI
// 3.1, via JSON Schema Validation, section 9.4).

import type { Ajv } from 'ajv'
import type { Schema } from '../contract/types.js'
import { type AnySchema, mapSchemas } from './exact-numbers.js'

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

/** The same schema, in which what is forbidden is neither required nor has a default. */
export function withoutForbidden<Each extends AnySchema>(schema: Each, forbidden: Forbidden): Each
export function withoutForbidden(schema: AnySchema, forbidden: Forbidden): AnySchema {
  return mapSchemas(schema, (each) => {
    const plain = each[forbidden] === true ? omit(each, 'default') : each
    const names = forbiddenNames(plain, forbidden)
    return names.size > 0 ? withoutRequired(plain, names) : plain
  })
}

function omit(schema: Schema, keyword: string): Schema {
  const { [keyword]: _, ...others } = schema
  return others
}

function forbiddenNames(schema: Schema, forbidden: Forbidden): Set<string> {
  const names = Object.entries((schema.properties as Schema | undefined) ?? {})
    .filter(([, each]) => isForbidden(each as AnySchema, forbidden))
    .map(([name]) => name)
  return new Set([
    ...names,
    ...parts(schema, 'allOf').flatMap((part) => [...forbiddenNames(part, forbidden)]),
  ])
}

function isForbidden(schema: AnySchema, forbidden: Forbidden): boolean {
  if (typeof schema === 'boolean') return false
  return schema[forbidden] === true || parts(schema, 'allOf').some((part) => isForbidden(part, forbidden))
}

// `required` may stand in one part and the property in another.
function withoutRequired(schema: Schema, names: ReadonlySet<string>): Schema {
  const copy: Record<string, unknown> = { ...schema }
  const required = schema.required as string[] | undefined
  if (required) copy.required = required.filter((name) => !names.has(name))
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    if (schema[keyword]) copy[keyword] = parts(schema, keyword).map((part) => withoutRequired(part, names))
  }
  return copy
}

function parts(schema: Schema, keyword: string): Schema[] {
  return (schema[keyword] as Schema[] | undefined) ?? []
}
