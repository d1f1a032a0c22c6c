// The fields of a request that have a default. The engine fills them in, so a handler always gets them. The
// types of the schemas themselves follow JSON Schema, where a default demands nothing (JSON Schema
// Validation, section 9.2): neither of a client, nor of a handler, whose responses are sent as they are.

import type { Schema } from '../document/contract.js'
import { type AnySchema, extendedBy, isNode, type Subschema, subschemasOf } from '../document/keywords.js'
import { nodeOf, type Reader } from '../document/reader.js'

/**
 * Returns the names of the fields of a request body that a handler always gets, although a client need not
 * send them. They have a default wherever the body has a field of that name which is not required.
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

// A schema under these keywords may not apply to a value, which then gets no default from it.
const maybe: ReadonlySet<string> = new Set(['then', 'else', 'dependentSchemas'])

// Returns a schema and all schemas that it leads to, each once.
function reached(
  reader: Reader,
  schema: AnySchema | undefined,
  isEntered: (subschema: Subschema) => boolean,
): ReadonlySet<Schema> {
  const found = new Set<Schema>(isNode(schema) ? [schema] : [])
  for (const each of found) {
    // includes schemas that are added meanwhile
    for (const inner of subschemasOf(each).filter(isEntered)) found.add(inner.schema)
    if (typeof each.$ref === 'string') found.add(reader.node(each))
  }
  return found
}

// Looks in the schema of the field, in its reference's target, and in an `allOf` of these. A readOnly field
// does not count, because only the server sets it.
function hasDefault(reader: Reader, field: unknown): boolean {
  const parts = [nodeOf(field), ...extendedBy(nodeOf(field), (each) => reader.node(each))]
  return parts.some((each) => each.default !== undefined) && !parts.some((each) => each.readOnly === true)
}

function isRequired({ required }: Schema, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}
