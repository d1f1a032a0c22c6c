// OpenAPI 3.0 and 3.1 as one: schemas of JSON Schema 2020-12, which is what Ajv compiles, in a document
// of which nothing is lost where a reference is followed.

import { stringify } from 'lossless-json'

/** The extension of a schema that holds, as JSON, those of its keywords that doubles would round. */
export const exactNumbers = 'x-exact-numbers'

type Node = Readonly<Record<string, unknown>>

/** Keywords whose keys are names of the document's own, not keywords. */
export const mapKeywords: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
  ...['schemas', 'responses', 'parameters', 'headers', 'requestBodies', 'pathItems', 'paths', 'content'],
])
/** Keywords that hold data, which may look like anything. */
export const dataKeywords: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum', 'const'])

/** The document in OpenAPI 3.1, whichever it was written in. */
export function toOneDialect(document: object): object {
  return { ...(converted(document, false, isOldDialect(document)) as object), openapi: '3.1.0' }
}

/** Whether a document is written in OpenAPI 3.0. */
export function isOldDialect(document: object | undefined): boolean {
  return String((document as Node | undefined)?.openapi).startsWith('3.0')
}

/** Where references stand that are none of schemas. */
export const referring: readonly string[] = [
  'parameters',
  'responses',
  'headers',
  'requestBodies',
  'requestBody',
  'links',
  'callbacks',
]

function converted(value: unknown, isMap: boolean, isOld: boolean, of = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => converted(each, false, isOld, of))
  if (typeof value !== 'object' || value === null) return rounded(value)
  const entries = Object.entries(value).map(([key, each]) => {
    const isData = !isMap && (dataKeywords.has(key) || key.startsWith('x-'))
    if (!isMap && exactKeywords.has(key)) return [key, each] // rounded below
    if (isData) return [key, rounded(each)]
    return [key, converted(each, !isMap && mapKeywords.has(key), isOld, isMap ? of : key)]
  })
  const copy: Node = Object.fromEntries(entries)
  if (isMap) return copy
  if (copy.$ref !== undefined && isItem(of)) return copy
  return modern(copy, (each) => withExact(withBranches(withSiblings(each, isOld || referring.includes(of)))))
}

/** Whether what stands below a keyword are path items: beside the `$ref` of one stand parts of it. */
export function isItem(of: string): boolean {
  return of === 'paths' || of === 'pathItems' || of === 'webhooks'
}

const exactKeywords = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['enum', 'const', 'default'],
])

// What reads the document knows no bigint: those of a schema are noted beside their doubles, as JSON.
function withExact(schema: Node): Node {
  const entries = Object.entries(schema)
  const exact = entries.filter(([key, value]) => exactKeywords.has(key) && rounded(value) !== value)
  if (exact.length === 0) return schema
  const doubles = exact.map(([key, value]) => [key, rounded(value)])
  return {
    ...schema,
    ...Object.fromEntries(doubles),
    [exactNumbers]: stringify(Object.fromEntries(exact)),
  }
}

/** A value with doubles in the place of its bigints: the value itself where it holds none. */
export function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => [key, rounded(each)] as const)
  if (entries.every(([key, each]) => each === (value as Node)[key])) return value
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries)
}

// What a discriminator calls each alternative, while they still have names: of forms and parameters, schemas take the place of references.
function withBranches(node: Node): Node {
  const discriminator = node.discriminator as { readonly mapping?: Record<string, string> } | undefined
  const alternatives = node.oneOf ?? node.anyOf
  if (typeof discriminator !== 'object' || discriminator === null || !Array.isArray(alternatives)) return node
  const mapping = Object.entries(discriminator.mapping ?? {})
  const branches = (alternatives as Node[]).map(({ $ref, allOf }) => {
    const ref = $ref ?? (allOf as Node[] | undefined)?.[0]?.$ref
    if (typeof ref !== 'string') return { mapped: [] }
    const name = lastName(ref)
    return {
      name,
      mapped: mapping.filter(([, target]) => lastName(String(target)) === name).map(([value]) => value),
    }
  })
  return { ...node, discriminator: { ...discriminator, branches } }
}

// `Dog` of `Dog`, `#/components/schemas/Dog` and `dogs.yaml#/Dog`.
function lastName(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

/**
 * Beside a `$ref`, 3.0 has nothing count; in 3.1 a schema's keywords do, and would be lost where it is followed.
 * @param areWordsKept whether its summary and description are kept where they stand alone
 */
export function withSiblings(node: Node, isOld: boolean, areWordsKept = false): Node {
  const { $ref, ...siblings } = node
  if (typeof $ref !== 'string') return node
  const names = Object.keys(siblings)
  const counting = names.some((key) => areWordsKept || (key !== 'summary' && key !== 'description'))
  if (isOld || !counting) return { $ref }
  const { allOf = [], ...others } = siblings
  return { ...others, allOf: [{ $ref }, ...(allOf as Node[])] }
}

/**
 * A schema without the keywords that are 3.0's own: those inside of it are left alone. Many a document of 3.1 still has them, and they
 * say nothing else there.
 * @param finish what else is done to the schema, within what allows it to be null
 */
export function modern(schema: Node, finish: (schema: Node) => Node = (each) => each): Node {
  const bounded = withBound(withBound(schema, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum')
  return withNull(bounded, finish)
}

function withBound(schema: Node, bound: string, exclusive: string): Node {
  if (typeof schema[exclusive] !== 'boolean') return schema
  const { [bound]: limit, [exclusive]: isExclusive, ...others } = schema
  if (limit === undefined) return others
  return { ...others, [isExclusive ? exclusive : bound]: limit }
}

// As openapi-typescript reads it: null is allowed beside whatever else the schema says.
function withNull(schema: Node, finish: (schema: Node) => Node): Node {
  if (typeof schema.nullable !== 'boolean') return finish(schema)
  const { nullable, ...others } = schema
  if (!nullable) return finish(others)
  if (typeof others.type !== 'string' || composing.some((key) => key in others)) return orNull(finish(others))
  const values = others.enum as unknown[] | undefined
  return finish({
    ...others,
    type: [others.type, 'null'],
    ...(values && { enum: [...new Set([...values, null])] }),
  })
}

const composing = ['allOf', 'anyOf', 'oneOf']
// What is said of a value, null or not.
const annotations = ['default', 'readOnly', 'writeOnly', 'deprecated']

function orNull(schema: Node): Node {
  const entries = Object.entries(schema)
  const own = entries.filter(([key]) => !annotations.includes(key))
  const around = entries.filter(([key]) => annotations.includes(key))
  return { ...Object.fromEntries(around), anyOf: [Object.fromEntries(own), { type: 'null' }] }
}
