// Converts a contract of OpenAPI 3.2 to 3.1, for tools that do not support 3.2. What 3.1 can express
// otherwise is converted, operations with other methods become extensions, and the rest is left out. So the
// result may allow more than the service does.

import { isNode, mapValues } from '../../document/keywords.js'
import { essence } from '../../document/media-types.js'
import { type Node, nodeOf, Reader } from '../../document/reader.js'
import { isOpenApi32 } from '../../document/versions.js'
import { walk } from '../../document/walk.js'
import { withOlderSchemas } from '../../kinds/stream/declared.js'
import { resolved } from '../source/resolved.js'
import { withSchemeNames } from '../source/scheme-names.js'
import { withNamedSchemas } from './named-schemas.js'

/** Returns the document of 3.2 in OpenAPI 3.1; returns any other document unchanged. */
export function withoutOpenApi32(document: object): object {
  if (!isOpenApi32(document)) return document
  // 3.1 has no components for media types
  const named = withNamedSchemas(withSchemeNames(document), 'mediaTypes')
  const own = resolved(named, (kind) => kind !== 'mediaTypes')
  const reader = new Reader(own)
  const converted = walk(own, (value, place, within) => {
    const { of, isMap } = place
    const written = of === 'parameters' ? withoutQuerystrings(reader, value, isMap) : value
    const whole = of === 'content' && isMap ? withOlderSchemas(reader, written) : written
    const node = within(whole, place) as Node
    return isMap || Array.isArray(node) ? node : rewritten(node, of)
  })
  const { $self: _, jsonSchemaDialect, ...others } = converted as Node
  const isOwn = /\/3\.2\//.test(String(jsonSchemaDialect))
  return {
    ...others,
    ...(jsonSchemaDialect !== undefined && !isOwn && { jsonSchemaDialect }),
    openapi: '3.1.1',
  }
}

// Fields that 3.2 has added, by the field whose value or member has them.
const addedFields: Readonly<Record<string, readonly string[]>> = {
  servers: ['name'],
  server: ['name'],
  components: ['mediaTypes'],
  encoding: ['encoding', 'prefixEncoding', 'itemEncoding'],
  securitySchemes: ['oauth2MetadataUrl'],
}

const rewrites: Readonly<Record<string, (node: Node) => Node>> = {
  tags: tagOf,
  content: mediaTypeOf,
  parameters: parameterOf,
  headers: withExamples,
  components: withExamples,
  responses: responseOf,
  securitySchemes: schemeOf,
  xml: xmlOf,
}

function rewritten(node: Node, of: string): Node {
  if (typeof node.$ref === 'string' && of !== 'paths') return node
  const rewrite = rewrites[of] ?? withoutMethods
  return without(withoutDefaultMapping(rewrite(node)), addedFields[of] ?? [])
}

// In 3.1, every value must have the property of a discriminator. So the discriminator goes, and its
// alternatives stay.
function withoutDefaultMapping(node: Node): Node {
  return nodeOf(node.discriminator).defaultMapping === undefined ? node : without(node, ['discriminator'])
}

function without(node: Node, names: readonly string[]): Node {
  return Object.fromEntries(Object.entries(node).filter(([name]) => !names.includes(name)))
}

// Moves the methods of a path item, which may be anywhere below `callbacks`, into extensions.
function withoutMethods(node: Node): Node {
  const { query, additionalOperations, ...known } = node
  if (!isNode(additionalOperations) && !isNode(query)) return node
  return {
    ...known,
    ...(query !== undefined && { 'x-query': query }),
    ...(additionalOperations !== undefined && { 'x-additionalOperations': additionalOperations }),
  }
}

// `x-displayName` is Redocly's extension, which Scalar and others show, too.
function tagOf({ summary, parent, kind: _, ...tag }: Node): Node {
  return {
    ...tag,
    ...(summary !== undefined && { 'x-displayName': summary }),
    ...(parent !== undefined && { 'x-parent': parent }),
  }
}

/**
 * Returns a media type as before 3.2: many documents of 3.0 and 3.1 give the schema of a stream's items as
 * its schema.
 */
export function mediaTypeOf({ itemSchema, itemEncoding: _, prefixEncoding: __, ...media }: Node): Node {
  return withExamples({ ...(itemSchema !== undefined && { schema: itemSchema }), ...media })
}

function responseOf({ summary, description = summary ?? '', ...response }: Node): Node {
  return { description, ...(summary !== undefined && { 'x-summary': summary }), ...response }
}

// Facts that 3.1 has no field for are added to the description.
function schemeOf({ deprecated, description, ...scheme }: Node): Node {
  const { deviceAuthorization, ...flows } = nodeOf(scheme.flows)
  const isDevice = deviceAuthorization !== undefined && Object.keys(flows).length === 0
  const texts = [
    ...(deprecated === true ? ['Deprecated.'] : []),
    ...(description === undefined ? [] : [description]),
    ...(isDevice ? [deviceFlow(nodeOf(deviceAuthorization))] : []),
  ]
  const known = isDevice ? { type: 'http', scheme: 'bearer' } : withFlows(scheme, flows)
  return { ...known, ...(texts.length > 0 && { description: texts.join(' ') }) }
}

function withFlows(scheme: Node, flows: Node): Node {
  return scheme.flows === undefined ? scheme : { ...scheme, flows }
}

// Without a flow, code generators write clients that send no token, so the scheme becomes a bearer token.
function deviceFlow({ deviceAuthorizationUrl, tokenUrl }: Node): string {
  return `A token of the device flow (RFC 8628): ${deviceAuthorizationUrl}, then ${tokenUrl}.`
}

function xmlOf({ nodeType, ...xml }: Node): Node {
  if (nodeType === 'attribute') return { ...xml, attribute: true }
  return nodeType === 'element' ? { ...xml, wrapped: true } : xml
}

// The style `cookie` is that of a form without percent-encoding.
function parameterOf({ allowReserved, ...parameter }: Node): Node {
  return withExamples({
    ...parameter,
    ...(allowReserved !== undefined && parameter.in === 'query' && { allowReserved }),
    ...(parameter.style === 'cookie' && { style: 'form' }),
  })
}

// If the whole query is a form, each of its properties becomes a parameter. Any other content cannot be
// expressed.
function withoutQuerystrings(reader: Reader, parameters: object, isMap: boolean): object {
  const isWhole = (each: unknown) => reader.node(each).in === 'querystring'
  if (Array.isArray(parameters))
    return parameters.flatMap((each) => (isWhole(each) ? propertiesOf(reader, reader.node(each)) : each))
  if (!isMap) return parameters
  return Object.fromEntries(Object.entries(parameters).filter(([, each]) => !isWhole(each)))
}

function propertiesOf(reader: Reader, { content, required: isRequired }: Node): Node[] {
  const [[type = '', media] = []] = Object.entries(nodeOf(content))
  if (essence(type) !== 'application/x-www-form-urlencoded') return []
  const { schema, encoding } = reader.node(media)
  const { properties, required = [] } = reader.node(schema)
  return Object.entries(nodeOf(properties)).map(([name, each]) => {
    const { contentType, ...style } = nodeOf(nodeOf(encoding)[name])
    const value = contentType === undefined ? { ...style, schema: each } : contentOf(contentType, each)
    const needed = isRequired === true && (required as unknown[]).includes(name)
    return { name, in: 'query', ...(needed && { required: true }), ...value }
  })
}

function contentOf(type: unknown, schema: unknown): Node {
  return { content: { [String(type)]: { schema } } }
}

function withExamples(node: Node): Node {
  return isNode(node.examples) ? { ...node, examples: mapValues(node.examples, exampleOf) } : node
}

function exampleOf(example: unknown): unknown {
  const { dataValue, serializedValue, ...others } = nodeOf(example)
  const value = dataValue ?? serializedValue
  return value === undefined || 'externalValue' in others ? others : { ...others, value }
}
