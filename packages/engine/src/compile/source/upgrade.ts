// Upgrades a document to OpenAPI 3.1, whose schemas are JSON Schema 2020-12, the dialect that Ajv compiles.
// Also moves keywords beside a `$ref` into `allOf`: following the reference would lose them.

import { stringify } from 'lossless-json'
import {
  changedMembers,
  choicesOf,
  composingKeywords,
  exactExamples,
  exactNumbers,
} from '../../document/keywords.js'
import type { Node } from '../../document/reader.js'
import { isOpenApi30 } from '../../document/versions.js'
import { type Place, pathItemFields, referenceFields, walk } from '../../document/walk.js'
import { lastName, refOf } from './discriminator.js'

/**
 * Converts a document of OpenAPI 3.0, 3.1 or 3.2 to the one form that all readers read: OpenAPI 3.1, with
 * what 3.2 adds left where it is.
 */
export function toOpenApi31(document: object): object {
  const isOld = isOpenApi30(document)
  const isRounded = rounded(document) === document // true for nearly every document
  // An object that stands in several places (resolved.ts) stays one object.
  const known = new Map<object, object>()
  const other = (value: unknown, { of }: Place) => (isExact(value, of) ? value : rounded(value))
  const copy = walk(
    document,
    (value, place, within) => {
      if (isExact(value, place.of)) return value // withExact rounds it
      if (place.isMap || Array.isArray(value)) return within(value, place)
      const result = known.get(value) ?? converted31(within(value, place) as Node, place, isOld)
      known.set(value, result)
      return result
    },
    isRounded ? {} : { other },
  )
  return { ...(copy as object), openapi: '3.1.0' }
}

function converted31(node: Node, { of }: Place, isOld: boolean): Node {
  if ('$ref' in node && pathItemFields.has(of)) return node
  const ignoresSiblings = isOld || referenceFields.has(of)
  return toSchema31(node, (each) => withExact(withBranches(refAsAllOf(each, ignoresSiblings))))
}

const exactKeywords = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['enum', 'const', 'default'],
])
// Fields of schemas, parameters, headers and media types, and of an Example Object.
const exampleFields = new Set(['example', 'examples', 'value', 'dataValue'])

// A map of Example Objects is not an example.
function isExact(value: unknown, field: string): boolean {
  return exactKeywords.has(field) || (field === 'examples' ? Array.isArray(value) : exampleFields.has(field))
}

// Readers of the document (JSON, Fastify, openapi-typescript) do not support bigint. So the document keeps
// doubles, and beside them has the exact values as JSON (runtime/exact-values.ts).
function withExact(node: Node): Node {
  return withExactly(exampleFields, exactExamples, withExactly(exactKeywords, exactNumbers, node))
}

function withExactly(fields: ReadonlySet<string>, extension: string, node: Node): Node {
  const exact = Object.keys(node)
    .filter((key) => fields.has(key) && rounded(node[key]) !== node[key])
    .map((key) => [key, node[key]] as const)
  if (exact.length === 0) return node
  const doubles = exact.map(([key, value]) => [key, rounded(value)])
  return { ...node, ...Object.fromEntries(doubles), [extension]: stringify(Object.fromEntries(exact)) }
}

/** Returns a value with its bigints as doubles; the same object if it contains none. */
export function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'object' && value !== null ? changedMembers(value, rounded) : value
}

interface DiscriminatorNode {
  readonly mapping?: Record<string, string>
  /** OpenAPI 3.2. */
  readonly defaultMapping?: string
}

// Adds the name and the mapped values of each alternative to its discriminator, before dereferencing removes
// the names.
function withBranches(node: Node): Node {
  const discriminator = node.discriminator as DiscriminatorNode | undefined
  const [choice] = choicesOf(node)
  if (typeof discriminator !== 'object' || discriminator === null || choice === undefined) return node
  const mapping = Object.entries(discriminator.mapping ?? {})
  const branches = (choice.alternatives as Node[]).map((each, i) => {
    const ref = refOf(each)
    const isIt = (target = '') =>
      ref === undefined
        ? target.endsWith(`/${choice.keyword}/${i}`)
        : target === ref || target === lastName(ref)
    const mapped = mapping.filter(([, target]) => isIt(target)).map(([value]) => value)
    const isDefault = isIt(discriminator.defaultMapping)
    return { ...(ref !== undefined && { name: lastName(ref) }), mapped, ...(isDefault && { isDefault }) }
  })
  return { ...node, discriminator: { ...discriminator, branches } }
}

/**
 * Moves `$ref` into `allOf`, so that the keywords beside it are kept. OpenAPI 3.0 and Reference Objects
 * ignore siblings.
 * @param keepsText true if a `summary` or `description` alone is worth an `allOf`
 */
export function refAsAllOf(node: Node, ignoresSiblings: boolean, keepsText = false): Node {
  const { $ref, ...siblings } = node
  if (typeof $ref !== 'string') return node
  const names = Object.keys(siblings)
  const isKept = names.some((key) => keepsText || (key !== 'summary' && key !== 'description'))
  if (ignoresSiblings || !isKept) return { $ref }
  const { allOf = [], ...others } = siblings
  return { ...others, allOf: [{ $ref }, ...(allOf as Node[])] }
}

/**
 * Converts OpenAPI 3.0's `nullable` and its boolean `exclusiveMinimum` and `exclusiveMaximum` in a schema,
 * and leaves subschemas alone. Many 3.1 documents still use them, and there they mean nothing else.
 * @param finish makes a further change to the schema, before it is wrapped to allow null
 */
export function toSchema31(schema: Node, finish: (schema: Node) => Node = (each) => each): Node {
  const bounded = withBound(withBound(schema, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum')
  return withNull(bounded, finish)
}

function withBound(schema: Node, bound: string, exclusive: string): Node {
  if (typeof schema[exclusive] !== 'boolean') return schema
  const { [bound]: limit, [exclusive]: isExclusive, ...others } = schema
  if (limit === undefined) return others
  return { ...others, [isExclusive ? exclusive : bound]: limit }
}

// Reads `nullable` as openapi-typescript does: null is allowed besides everything else that the schema
// allows.
function withNull(schema: Node, finish: (schema: Node) => Node): Node {
  if (typeof schema.nullable !== 'boolean') return finish(schema)
  const { nullable, ...others } = schema
  if (!nullable) return finish(others)
  if (typeof others.type !== 'string' || composingKeywords.some((key) => key in others))
    return orNull(finish(others))
  const values = others.enum as unknown[] | undefined
  return finish({
    ...others,
    type: [others.type, 'null'],
    ...(values && { enum: [...new Set([...values, null])] }),
  })
}

// These keywords apply to the value whether it is null or not.
const annotations = ['default', 'readOnly', 'writeOnly', 'deprecated']

function orNull(schema: Node): Node {
  const entries = Object.entries(schema)
  const own = entries.filter(([key]) => !annotations.includes(key))
  const around = entries.filter(([key]) => annotations.includes(key))
  return { ...Object.fromEntries(around), anyOf: [Object.fromEntries(own), { type: 'null' }] }
}
