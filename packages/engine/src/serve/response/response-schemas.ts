// The schemas of responses for Fastify's serializer, fast-json-stringify. References are inlined: it would
// resolve them itself.

import type { Content, Operation, Schema } from '../../document/contract.js'
import { type AnySchema, exactNumbers, mapSchemas, schemasIn } from '../../document/keywords.js'
import { Reader } from '../../document/reader.js'
import { kindOf } from '../../kinds/index.js'
import { hasInheritedName } from '../../values/inherited-names.js'

/** In Fastify's form: by status, then by media type. */
export type ResponseSchemas = Readonly<
  Record<string, { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }>
>

// For one response. Schemas that refer to each other often grow without bound when they are inlined, and deep
// ones could overflow the stack.
const schemasMax = 1_000
const depthMax = 50

// Keywords that choose among schemas or contain schemas that the serializer does not read, and defaults,
// which it would add to a handler's response.
const unsupported = [
  'default',
  ...['anyOf', 'oneOf', 'allOf', 'if', 'discriminator', 'dependentSchemas', 'prefixItems'],
  ...['unevaluatedProperties', 'writeOnly', exactNumbers],
]

// Whether values may have fields or elements without a schema: the serializer leaves such fields out, and
// cannot write a bigint there.
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

// The serializer would leave out the fields that an open schema allows without declaring them. It writes them
// as JSON.stringify does, which throws for a bigint.
function withOtherFields(schema: Schema): Schema {
  const isOpen = schema.type === 'object' && schema.additionalProperties === undefined
  return isOpen ? { ...schema, additionalProperties: true } : schema
}

/** The number of schemas after inlining, and of nested references; infinite if one is not supported. */
interface Extent {
  readonly size: number
  readonly height: number
}

const nothing: Extent = { size: 0, height: 0 }
const unbounded: Extent = { size: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY }

/**
 * Returns the schemas of an operation's JSON responses, or undefined unless Fastify's serializer can write
 * every value that they allow. It cannot write bigints among alternatives, which it chooses with its own Ajv,
 * nor where a schema names no type.
 */
export function createResponseSchemas(
  document: object,
): (operation: Operation) => ResponseSchemas | undefined {
  const reader = new Reader(document)
  const isWhollyWritable = createWritableCheck(reader)
  return ({ responses }) => {
    const declared = [...responses.values()].map(({ key, contents }) => {
      return [key, contents.flatMap((each) => inJson(each) ?? [])] as const
    })
    const schemas = declared.flatMap(([, contents]) => contents.map(({ schema = {} }) => schema))
    if (!schemas.every(isWhollyWritable)) return undefined
    const inlined = (schema: unknown) => mapSchemas(reader.dereferenced(schema) as AnySchema, withOtherFields)
    const written = declared.filter(([, contents]) => contents.length > 0)
    return Object.fromEntries(
      written.map(([key, contents]) => {
        const content = contents.map(({ mediaType, schema }) => [mediaType, { schema: inlined(schema) }])
        return [key, { content: Object.fromEntries(content) }]
      }),
    )
  }
}

// What of a body is written as JSON, if there is any.
function inJson(content: Content): Pick<Content, 'mediaType' | 'schema'> | undefined {
  const json = kindOf(content).sent?.inJson?.(content)
  return json && { mediaType: content.mediaType, schema: json.schema }
}

function createWritableCheck(reader: Reader): (schema: AnySchema) => boolean {
  const known = new Map<string, Extent>()
  // Undefined if references nest too deeply from where the first began, which says nothing of what was found
  // on the way: the verdict on a schema must not depend on those before.
  const extentOf = (schema: AnySchema, path: readonly string[] = []): Extent | undefined => {
    if (typeof schema === 'boolean') return unbounded
    let { size, height } = nothing
    for (const each of schemasIn(schema)) {
      if (typeof each.$ref !== 'string') {
        size += isWritable(each) ? 1 : unbounded.size
        continue
      }
      const target = extentAt(each.$ref, path)
      if (target === undefined) return undefined
      size += target.size
      height = Math.max(height, target.height + 1)
    }
    return { size, height }
  }
  const extentAt = (ref: string, path: readonly string[]): Extent | undefined => {
    if (path.includes(ref)) return unbounded // it refers to itself
    if (path.length === depthMax) return undefined
    const extent = known.get(ref) ?? extentOf(reader.node({ $ref: ref }), [...path, ref])
    if (extent !== undefined) known.set(ref, extent)
    return extent
  }
  return (schema) => {
    const { size, height } = extentOf(schema) ?? unbounded
    return size <= schemasMax && height <= depthMax
  }
}

// By itself, whatever the schemas within it.
function isWritable(schema: Schema): boolean {
  const isTyped = !unsupported.some((name) => name in schema) && typeof schema.type === 'string'
  return isTyped && !isOpen(schema) && !hasInheritedName(schema)
}
