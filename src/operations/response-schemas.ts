// Answers that Fastify's serializer writes, from schemas without references, which it would take for its own.

import { Reader } from '../contract/reader.js'
import type { Operation, Schema } from '../contract/types.js'
import { exactNumbers } from '../contract/upgrade.js'
import { type AnySchema, mapSchemas } from '../schemas/exact-numbers.js'
import { hasInheritedName } from '../schemas/field-names.js'

/** In Fastify's form: by status, then by media type. */
export type ResponseSchemas = Readonly<
  Record<string, { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }>
>

// Of one answer. Schemas that refer to each other often are endless when they are written out.
const schemasMax = 1_000

// What chooses among schemas, or has some that the serializer looks for nowhere; and defaults, which it would add to what a handler gives.
const notPlain = [
  'default',
  ...['anyOf', 'oneOf', 'allOf', 'if', 'discriminator', 'dependentSchemas', 'prefixItems'],
  ...['unevaluatedProperties', 'writeOnly', exactNumbers],
]

// Whether it expects what no schema is of: the serializer leaves out such fields, and knows no bigint among such values.
function isOpen({
  type,
  items,
  properties = {},
  required = [],
  additionalProperties: others,
}: Schema): boolean {
  if (type === 'array') return typeof items !== 'object'
  if (type !== 'object' || typeof others === 'object') return false
  const names = Object.keys(properties as object)
  const isWhole = (required as readonly string[]).every((name) => names.includes(name))
  return others === true || names.length === 0 || !isWhole
}

/**
 * Finds the schemas of an operation's answers in JSON; undefined unless Fastify's serializer writes all that they allow. It chooses
 * among alternatives with an Ajv that knows no bigint, and writes none where no type is named.
 */
export function createResponseSchemas(document: object): (operation: Operation) => ResponseSchemas | undefined {
  const reader = new Reader(document)
  const known = new Map<string, number>()
  // How many schemas it is when it is written out; Infinity where one of them is not plain.
  const sizeOf = (schema: AnySchema): number => {
    let size = typeof schema === 'object' ? 0 : Number.POSITIVE_INFINITY
    mapSchemas(schema, (each) => {
      const isPlain = !notPlain.some((name) => name in each) && typeof each.type === 'string'
      if (typeof each.$ref === 'string') size += sizeAt(each.$ref)
      else size += isPlain && !isOpen(each) && !hasInheritedName(each) ? 1 : Number.POSITIVE_INFINITY
      return each
    })
    return size
  }
  const sizeAt = (ref: string): number => {
    const size = known.get(ref)
    if (size !== undefined) return size
    known.set(ref, Number.POSITIVE_INFINITY) // for what leads back to itself
    const found = sizeOf(reader.node({ $ref: ref }))
    known.set(ref, found)
    return found
  }
  return ({ responses }) => {
    const answers = [...responses.values()].map(({ key, contents }) => {
      return [key, contents.filter(({ kind }) => kind === 'json')] as const
    })
    const schemas = answers.flatMap(([, contents]) => contents.map(({ schema = {} }) => schema))
    if (!schemas.every((schema) => sizeOf(schema) <= schemasMax)) return undefined
    const written = answers
      .filter(([, contents]) => contents.length > 0)
      .map(([key, contents]) => {
        const content = contents.map(({ mediaType, schema }) => [
          mediaType,
          { schema: reader.inlined(schema) },
        ])
        return [key, { content: Object.fromEntries(content) }]
      })
    return Object.fromEntries(written)
  }
}
