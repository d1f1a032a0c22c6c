// The fields of a request that have a default: the engine fills them in, so a handler always gets them. The
// types of schemas have them as JSON Schema does: a default demands nothing (JSON Schema Validation, section
// 9.2), of a client as little as of a handler that responds, whose responses are sent as they are.

import type { Schema } from '../document/contract.js'
import { type AnySchema, extendedBy, isNode, type Subschema, subschemasOf } from '../document/keywords.js'
import { nodeOf, type Reader } from '../document/reader.js'

/**
 * The names of the fields of a request body that a handler always gets, although a client need not send them:
 * those that have a default, wherever in the body a field of that name is not required.
 */
export function filledNames(reader: Reader, body: AnySchema | undefined): string[] {
  const certain = reached(reader, body, ({ isCondition, keyword }) => !isCondition && !maybe.has(keyword))
  const filled = new Set<string>()
  const open = new Set<string>()
  for (const schema of reached(reader, body, ({ isCondition }) => !isCondition))
    for (const [name, field] of Object.entries(nodeOf(schema.properties))) {
      if (certain.has(schema) && hasDefault(reader, field)) filled.add(name)
      else if (!isRequired(schema, name)) open.add(name)
    }
  return [...filled].filter((name) => !open.has(name)).sort()
}

// What may not apply to a value, which then gets no default by it.
const maybe: ReadonlySet<string> = new Set(['then', 'else', 'dependentSchemas'])

// A schema and those that it leads to, each once.
function reached(
  reader: Reader,
  schema: AnySchema | undefined,
  isEntered: (subschema: Subschema) => boolean,
): ReadonlySet<Schema> {
  const found = new Set<Schema>(isNode(schema) ? [schema] : [])
  for (const each of found) {
    // with those that are added meanwhile
    for (const inner of subschemasOf(each).filter(isEntered)) found.add(inner.schema)
    if (typeof each.$ref === 'string') found.add(reader.node(each))
  }
  return found
}

// By the schema of the field, what it refers to, or an `allOf` of these. The server alone sets one that is
// readOnly.
function hasDefault(reader: Reader, field: unknown): boolean {
  const parts = [nodeOf(field), ...extendedBy(nodeOf(field), (each) => reader.node(each))]
  return parts.some((each) => each.default !== undefined) && !parts.some((each) => each.readOnly === true)
}

function isRequired({ required }: Schema, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}
