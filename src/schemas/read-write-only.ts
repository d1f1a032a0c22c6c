// What goes one way only: `readOnly` is in answers and never in requests, `writeOnly` the other way round (OpenAPI
// 3.1, via JSON Schema Validation, section 9.4).

import type { Ajv } from 'ajv'
import type { Schema } from '../contract/types.js'
import { type AnySchema, mapSchemas } from './exact-numbers.js'

/** What must not be there: `readOnly` in a request, `writeOnly` in an answer. */
export type Barred = 'readOnly' | 'writeOnly'

const problems = { readOnly: 'is set by the service and must not be sent', writeOnly: 'must not be answered' }

/** Teaches Ajv to refuse what goes the other way. */
export function addBarred(ajv: Ajv, barred: Barred): void {
  ajv.removeKeyword(barred) // to Ajv it is an annotation
  ajv.addKeyword({
    keyword: barred,
    schemaType: 'boolean',
    validate: (isBarred: boolean) => !isBarred,
    error: { message: problems[barred] },
  })
}

/** The same schema, in which what is barred is neither required nor has a default. */
export function withoutBarred<Each extends AnySchema>(schema: Each, barred: Barred): Each
export function withoutBarred(schema: AnySchema, barred: Barred): AnySchema {
  return mapSchemas(schema, (each) => {
    const plain = each[barred] === true ? omit(each, 'default') : each
    const names = barredNames(plain, barred)
    return names.size > 0 ? withoutRequired(plain, names) : plain
  })
}

function omit(schema: Schema, keyword: string): Schema {
  const { [keyword]: _, ...others } = schema
  return others
}

function barredNames(schema: Schema, barred: Barred): Set<string> {
  const names = Object.entries((schema.properties as Schema | undefined) ?? {})
    .filter(([, each]) => isBarred(each as AnySchema, barred))
    .map(([name]) => name)
  return new Set([...names, ...parts(schema, 'allOf').flatMap((part) => [...barredNames(part, barred)])])
}

function isBarred(schema: AnySchema, barred: Barred): boolean {
  if (typeof schema === 'boolean') return false
  return schema[barred] === true || parts(schema, 'allOf').some((part) => isBarred(part, barred))
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
