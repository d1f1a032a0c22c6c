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
export function compilableWithout(forbidden: Forbidden): (schema: Schema, resolve: Resolve) => Schema {
  return (schema, resolve) => compilable(withoutForbidden(schema, forbidden, resolve) as Schema)
}

function withoutForbidden(schema: Schema, forbidden: Forbidden, resolve: Resolve): AnySchema {
  return mapSchemas(schema, (each) => {
    const plain = each[forbidden] === true ? omit(each, 'default') : each
    const names = forbiddenNames(plain, forbidden, resolve)
    return names.size > 0 ? withoutRequired(plain, names, resolve) : plain
  })
}

function omit(schema: Schema, keyword: string): Schema {
  const { [keyword]: _, ...others } = schema
  return others
}

function forbiddenNames(schema: Schema, forbidden: Forbidden, resolve: Resolve): Set<string> {
  const names = Object.entries((schema.properties as Schema | undefined) ?? {})
    .filter(([, each]) => isForbidden(each as AnySchema, forbidden, resolve))
    .map(([name]) => name)
  const inherited = parts(schema, 'allOf', resolve).flatMap((part) => [
    ...forbiddenNames(part, forbidden, resolve),
  ])
  return new Set([...names, ...inherited])
}

function isForbidden(given: AnySchema, forbidden: Forbidden, resolve: Resolve): boolean {
  if (typeof given === 'boolean') return false
  const schema = resolve(given)
  return (
    schema[forbidden] === true ||
    parts(schema, 'allOf', resolve).some((part) => isForbidden(part, forbidden, resolve))
  )
}

// `required` may stand in one part and the property in another.
function withoutRequired(schema: Schema, names: ReadonlySet<string>, resolve: Resolve): Schema {
  const copy: Record<string, unknown> = { ...schema }
  const required = schema.required as string[] | undefined
  if (required) copy.required = required.filter((name) => !names.has(name))
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    if (schema[keyword] === undefined) continue
    copy[keyword] = parts(schema, keyword, resolve).map((part) => withoutRequired(part, names, resolve))
  }
  return copy
}

function parts(schema: Schema, keyword: string, resolve: Resolve): Schema[] {
  return ((schema[keyword] as Schema[] | undefined) ?? []).map(resolve)
}
