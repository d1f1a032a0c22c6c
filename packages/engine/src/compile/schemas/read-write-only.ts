// `readOnly` values occur only in responses, `writeOnly` values only in requests (JSON Schema Validation,
// section 9.4).

import type { Ajv } from 'ajv'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, extendedBy, isNode, mapSchemas, mapSubschemas } from '../../document/keywords.js'
import { once } from '../../runtime/once.js'
import type { Resolve } from '../../runtime/references.js'
import { compilable } from './ajv.js'
import { withExcuses } from './default-keywords.js'

/** The keyword to forbid: `readOnly` in a request, `writeOnly` in a response. */
export type Forbidden = 'readOnly' | 'writeOnly'

const problems = {
  readOnly: 'is set by the service and must not be sent',
  writeOnly: 'is writeOnly and must not be returned',
}

/** Makes an Ajv reject values whose schema has the forbidden keyword. */
export function forbid(ajv: Ajv, forbidden: Forbidden): void {
  ajv.removeKeyword(forbidden) // Ajv's own keyword is an annotation
  ajv.addKeyword({
    keyword: forbidden,
    schemaType: 'boolean',
    error: { message: problems[forbidden] },
    code(cxt) {
      if (cxt.schema === true) cxt.fail()
    },
  })
}

/** Prepares schemas for `forbid`: a forbidden property is not required and has no default. */
export function compilableWithout(forbidden: Forbidden): (resolve: Resolve) => (schema: Schema) => Schema {
  return (resolve) => {
    const { isForbidden, namesOf } = createNames(forbidden, resolve)
    const withoutForbidden = (schema: Schema) =>
      mapSchemas(schema, (each) => {
        const plain = isForbidden(each) ? omit(each, 'default') : each
        const names = namesOf(plain)
        return names.size > 0 ? withoutRequired(plain, names, resolve) : plain
      })
    // Defaults are filled in only in requests.
    const isRequest = forbidden === 'readOnly'
    return (schema) => compilable(withoutForbidden(isRequest ? withExcuses(schema, resolve) : schema))
  }
}

function omit(schema: Schema, keyword: string): Schema {
  const { [keyword]: _, ...others } = schema
  return others
}

// Tells if a schema is forbidden, and which of its properties are. It looks at the schema and its `allOf`
// only: other subschemas may not apply.
function createNames(forbidden: Forbidden, resolve: Resolve) {
  const allOf = (schema: Schema) => ((schema.allOf as Schema[] | undefined) ?? []).filter(isNode).map(resolve)
  const isForbidden = once((schema) =>
    [...extendedBy(schema, resolve)].some((each) => each[forbidden] === true),
  )
  const namesOf = once((schema): ReadonlySet<string> => {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, AnySchema>)
    const own = properties.filter(([, each]) => typeof each === 'object' && isForbidden(resolve(each)))
    return new Set([...own.map(([name]) => name), ...allOf(schema).flatMap((part) => [...namesOf(part)])])
  })
  return { isForbidden, namesOf }
}

// Removes the names from `required`, which may be in another subschema than the property. A schema that
// requires none of the names is returned unchanged.
function withoutRequired(schema: Schema, names: ReadonlySet<string>, resolve: Resolve): Schema {
  const isKept = (name: string) => !names.has(name)
  const without = once((each): Schema => {
    let isChanged = false
    const inner = mapSubschemas(each, (part) => {
      if (part.appliesTo !== 'value' || part.isCondition) return part.schema
      const target = resolve(part.schema)
      const stripped = without(target)
      if (stripped !== target) isChanged = true
      return stripped === target ? part.schema : stripped
    })
    return requiringOnly(isKept, isChanged ? inner : each)
  })
  return without(schema)
}

function requiringOnly(isKept: (name: string) => boolean, schema: Schema): Schema {
  const required = (schema.required ?? []) as string[]
  const excused = (schema.excused ?? []) as string[]
  const dependent = Object.entries((schema.dependentRequired ?? {}) as Record<string, string[]>)
  if ([...required, ...excused, ...dependent.flatMap(([, names]) => names)].every(isKept)) return schema
  const kept = dependent.map(([name, names]) => [name, names.filter(isKept)])
  return {
    ...schema,
    required: required.filter(isKept),
    excused: excused.filter(isKept),
    dependentRequired: Object.fromEntries(kept),
  }
}
