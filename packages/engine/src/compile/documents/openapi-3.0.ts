// Converts the contract to OpenAPI 3.0, for tools that do not support 3.1. Constraints that 3.0 cannot
// express are dropped, so the result may allow more than the service does.

import {
  choicesOf,
  composingKeywords,
  mapValues,
  schemaKeywords,
  schemasOfValue,
  subschemasOf,
} from '../../document/keywords.js'
import { isJson } from '../../document/media-types.js'
import { methodFields } from '../../document/methods.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { isOpenApi30 } from '../../document/versions.js'
import { type Place, referenceFields, schemaFields, type Visit, walk } from '../../document/walk.js'
import { withSchemaOfRows } from '../../kinds/csv/declared.js'
import { withoutDynamicRefs } from '../source/dynamic-refs.js'
import { resolved } from '../source/resolved.js'
import { withNamedSchemas } from './named-schemas.js'
import { mediaTypeOf, withoutOpenApi32 } from './openapi-3.1.js'

const unknownKeywords = [
  ...['$schema', '$id', '$anchor', '$dynamicAnchor', '$dynamicRef', '$vocabulary', '$comment', '$defs'],
  ...['if', 'then', 'else', 'contains', 'minContains', 'maxContains', 'prefixItems', 'unevaluatedItems'],
  ...['patternProperties', 'propertyNames', 'dependentSchemas', 'dependentRequired', 'unevaluatedProperties'],
  ...['const', 'contentEncoding', 'contentMediaType', 'contentSchema', 'examples'],
  'itemSchema',
]

/** Converts a document of OpenAPI 3.1 or 3.2 to 3.0. Returns a 3.0 document unchanged. */
export function toOpenApi30(document: object): object {
  if (isOpenApi30(document)) return document
  // OpenAPI 3.0 has no components for path items.
  const named = withNamedSchemas(withoutOpenApi32(withoutDynamicRefs(document)), 'pathItems')
  const whole = resolved(named, (kind) => kind !== 'pathItems') as Node
  const { openapi: _, jsonSchemaDialect: __, webhooks: ___, ...known } = whole
  const { info, components = {}, ...others } = known
  const { pathItems: ____, schemas, securitySchemes, ...kept } = components as Node
  const schemes = Object.entries(nodeOf(securitySchemes))
  const unsupported = schemes
    .filter(([, scheme]) => nodeOf(scheme).type === 'mutualTLS')
    .map(([name]) => name)
  const scoped = schemes.filter(([, scheme]) => hasScopes(nodeOf(scheme))).map(([name]) => name)
  const convert = createConvert(unsupported, scoped)
  return {
    openapi: '3.0.3',
    info: infoOf(nodeOf(info)),
    ...nodeOf(convert({ paths: {}, ...others })),
    components: convert({
      ...kept,
      ...(schemas !== undefined && { schemas: withDefinitions(nodeOf(schemas)) }),
      ...(schemes.length > 0 && { securitySchemes: without(nodeOf(securitySchemes), unsupported) }),
    }),
  }
}

// `#/components/schemas/A/$defs/B` becomes `#/components/schemas/A.B`.
function withDefinitions(schemas: Node): Node {
  const all = Object.entries(schemas).flatMap(([name, schema]) => {
    const own = Object.entries(nodeOf(nodeOf(schema).$defs)).map(([other, each]) => [
      `${name}.${other}`,
      each,
    ])
    return [[name, schema], ...own]
  })
  return Object.fromEntries(all)
}

function without(node: Node, names: readonly string[]): Node {
  return Object.fromEntries(Object.entries(node).filter(([name]) => !names.includes(name)))
}

function infoOf({ summary: _, license, ...info }: Node): Node {
  if (license === undefined) return info
  const { identifier, ...known } = nodeOf(license)
  if (identifier === undefined) return { ...info, license: known }
  return { ...info, license: { ...known, url: `https://spdx.org/licenses/${identifier}.html` } }
}

// For other schemes, the list names roles, which 3.0 does not have (OpenAPI 3.0.3, section 4.7.30).
function hasScopes({ type, $ref }: Node): boolean {
  return type === 'oauth2' || type === 'openIdConnect' || $ref !== undefined
}

function withoutRoles(requirement: Node, scoped: readonly string[]): Node {
  const entries = Object.entries(requirement)
  return Object.fromEntries(entries.map(([name, scopes]) => [name, scoped.includes(name) ? scopes : []]))
}

function createConvert(
  unsupported: readonly string[],
  scoped: readonly string[],
): (value: unknown) => unknown {
  const other = (value: unknown, { of, isData }: Place) =>
    typeof value !== 'boolean' || isData || !isSchemaIn(of) ? value : value ? {} : { not: {} }
  const visit: Visit = (value, place, within) => {
    const { of, isMap } = place
    // A document of 3.1 may have an itemSchema, too.
    const whole = of === 'content' && isMap ? withRowsAsArrays(value) : value
    const known = of === 'content' && !isMap ? mediaTypeOf(nodeOf(whole)) : whole
    const node = within(known, place) as Node
    if (isMap || Array.isArray(node)) return node
    if (of === 'security') return withoutRoles(without(node, unsupported), scoped)
    if (methodFields.includes(of)) return withResponses(node)
    if (of === 'variables') return node // a server variable has an enum, but is no schema
    return node.$ref === undefined ? withKeywordsOf30(node) : reference(node, of)
  }
  // OpenAPI 3.0 ignores the siblings of a `$ref`, so they move into an `allOf`.
  const reference = ({ $ref, ...siblings }: Node, of: string): Node => {
    const target = { $ref: String($ref).replaceAll('/$defs/', '.') }
    if (of === 'paths') return { ...target, ...siblings }
    if (referenceFields.has(of) || Object.keys(siblings).length === 0) return target
    const { allOf = [], ...others } = withKeywordsOf30(siblings)
    return { ...others, allOf: [target, ...(allOf as Node[])] }
  }
  return (value) => walk(value, visit, { other })
}

function withRowsAsArrays(content: object): object {
  return mapValues(content, (media, mediaType) => withSchemaOfRows(mediaType, media))
}

// Before 3.1, an operation must have responses.
function withResponses(operation: Node): Node {
  const { $ref, responses } = operation
  const isWhole = $ref !== undefined || responses !== undefined
  return isWhole ? operation : { ...operation, responses: { default: { description: 'Not described.' } } }
}

// True if a boolean in a field is a schema that 3.0 cannot express.
function isSchemaIn(of: string): boolean {
  const isKnown = schemaKeywords.has(of) && !unknownKeywords.includes(of)
  return (isKnown && of !== 'additionalProperties') || schemaFields.has(of) || of === 'schemas'
}

// Replaces or drops the keywords that 3.0 does not have. Nodes other than schemas have none of them.
function withKeywordsOf30(node: Node): Node {
  const { examples, contentEncoding, contentMediaType, itemSchema } = node
  // JSON in a string is text: `binary` would make a file of it.
  const isFile = contentMediaType !== undefined && !isJson(String(contentMediaType))
  const format = /^base64/.test(String(contentEncoding)) ? 'byte' : isFile ? 'binary' : undefined
  const known = Object.entries(node).filter(([key]) => !unknownKeywords.includes(key))
  return withTypes({
    ...(format !== undefined && { format }),
    ...(losesProperties(node) && { additionalProperties: true }),
    ...Object.fromEntries(known),
    ...('const' in node && { enum: [node.const] }),
    ...(itemSchema !== undefined && { schema: itemSchema }),
    ...(examples !== undefined && (Array.isArray(examples) ? { example: examples[0] } : { examples })),
    ...bound(node, 'minimum', 'exclusiveMinimum', (limit, exclusive) => limit > exclusive),
    ...bound(node, 'maximum', 'exclusiveMaximum', (limit, exclusive) => limit < exclusive),
    ...(node.patternProperties !== undefined && { additionalProperties: true }),
    ...(node.prefixItems !== undefined && { items: {} }),
  })
}

// True if a keyword that 3.0 does not have allows properties beside the schema's own.
function losesProperties({ properties, unevaluatedProperties: others = false, ...node }: Node): boolean {
  if (properties === undefined) return false
  const dropped = subschemasOf(node).filter(({ keyword }) => unknownKeywords.includes(keyword))
  const parts = dropped
    .filter(({ appliesTo }) => appliesTo === 'value')
    .flatMap((each) => schemasOfValue(each.schema))
  const names = parts.flatMap((part) => Object.keys(nodeOf(part.properties)))
  return others !== false || names.some((name) => !Object.hasOwn(nodeOf(properties), name))
}

// In 3.0, `exclusiveMinimum` is a flag of `minimum`. In 3.1 both may be numbers, and the tighter one applies.
function bound(
  node: Node,
  name: string,
  exclusiveName: string,
  isTighter: (limit: number, exclusive: number) => boolean,
): Node {
  const { [name]: limit, [exclusiveName]: exclusive } = node as Readonly<Record<string, number>>
  if (typeof exclusive !== 'number' && typeof exclusive !== 'bigint') return {}
  if (limit !== undefined && isTighter(limit, exclusive)) return { [exclusiveName]: false }
  return { [name]: exclusive, [exclusiveName]: true }
}

// In 3.0, a schema has one type, an array requires `items`, and null is not a type.
function withTypes(node: Node): Node {
  const { type = typesOfValues(node.enum), ...untyped } = node
  const types = [type].flat()
  const others = types.filter((each) => each !== 'null')
  const isNullable = others.length < types.length
  if (type === undefined) return withoutNull(node)
  if (others.length === 0) return { ...untyped, ...nullAlone }
  const [first, ...more] = others.map((each) => ({
    type: each,
    ...(each === 'array' && { items: node.items ?? {} }),
    ...(each === 'integer' && /^int/.test(String(node.format)) && { format: node.format }),
    ...(isNullable && { nullable: true }),
  }))
  if (more.length === 0) return withoutNull({ ...node, ...first })
  return withoutNull({
    ...untyped,
    allOf: [...((node.allOf ?? []) as Node[]), { anyOf: [first, ...more] }],
  })
}

// `nullable` has no effect without a type, and some validators refuse it.
const nullAlone = { type: 'object', nullable: true, enum: [null] } as const

// Returns the common type of the values of an enum: code generators ignore an `enum` without a type.
function typesOfValues(values: unknown): string | string[] | undefined {
  if (!Array.isArray(values)) return undefined
  const types = new Set(values.map(typeOf))
  const isNullable = types.delete('null') && types.size > 0
  if (types.has('number')) types.delete('integer')
  const [type] = types
  if (type === undefined) return 'null'
  if (types.size > 1 || values.some(isBeyondDouble)) return undefined
  return isNullable ? [type, 'null'] : type
}

// Tools expect an integer without a format to fit a double.
function isBeyondDouble(value: unknown): boolean {
  return typeof value === 'bigint' && !Number.isSafeInteger(Number(value))
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'bigint' || Number.isInteger(value) ? 'integer' : typeof value
}

// Turns `anyOf: [A, {type: 'null'}]` into a nullable A, which code generators understand. A must have a type
// of its own.
function withoutNull(node: Node): Node {
  const [{ keyword } = {}] = choicesOf(node)
  if (keyword === undefined) return node
  const { [keyword]: all, ...others } = node as Readonly<Record<string, Node[]>>
  const [one, ...more] = (all ?? []).filter((each) => !isNull(each))
  if (one === undefined || more.length > 0 || all?.length === 1 || !isMergeable(one, others)) return node
  const values = Array.isArray(one.enum) && { enum: [...new Set([...one.enum, null])] }
  return { ...others, ...one, ...values, nullable: true }
}

function isNull({ enum: values }: Node): boolean {
  return Array.isArray(values) && values.length > 0 && values.every((each) => each === null)
}

// A schema that refers to or combines others may refuse null.
function isMergeable(one: Node, others: Node): boolean {
  const combines = ['$ref', ...composingKeywords, 'not'].some((each) => each in one)
  return one.type !== undefined && !combines && !Object.keys(one).some((each) => each in others)
}
