// The types of a document's objects for Redocly's lint: adds those of OpenAPI 3.2, and `itemSchema` in any
// version. Redocly 1 reads a 3.2 document by the rules of 3.1, and would refuse each new field. Redocly 2
// (2.64.0) knows most of them, but takes each entry of `components.mediaTypes` for a map of media types. It
// also refuses `style: cookie`, a response without a description, and an encoding within an encoding.

import { Oas3_1Types, Oas3Types } from '@redocly/openapi-core'
import { isOpenApi30, isOpenApi32, type Node } from 'contract-engine/tools'

type NodeType = (typeof Oas3_1Types)['Root']
type Properties = NodeType['properties']

const types31: Readonly<Record<string, NodeType>> = Oas3_1Types

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const

const mapOf = (type: string | typeof text): NodeType => ({ properties: {}, additionalProperties: () => type })

// Returns a type with additional fields.
function extended(name: string, properties: Properties, types = types31): NodeType {
  const known = types[name] as NodeType
  return { ...known, properties: { ...known.properties, ...properties } }
}

// Returns the fields that a type of 3.1 allows for a value.
function allowedFields(name: string, value: unknown): readonly string[] {
  return types31[name]?.allowed?.(value) ?? []
}

const encodings: Properties = {
  encoding: 'EncodingMap',
  prefixEncoding: 'EncodingList',
  itemEncoding: 'Encoding',
}
const parameterStyle = {
  enum: ['form', 'simple', 'label', 'matrix', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'cookie'],
}

/** Returns the types for the version of a document. */
export function redoclyTypes(document: Node): Record<string, NodeType> {
  if (isOpenApi32(document)) return types32
  const types: typeof types31 = isOpenApi30(document) ? Oas3Types : types31
  return { ...types, MediaType: extended('MediaType', { itemSchema: 'Schema' }, types) }
}

const types32: Record<string, NodeType> = {
  ...types31,
  Root: extended('Root', { $self: text }),
  Server: extended('Server', { name: text }),
  Tag: extended('Tag', { summary: text, parent: text, kind: text }),
  Components: extended('Components', { mediaTypes: 'NamedMediaTypes' }),
  NamedMediaTypes: mapOf('MediaType'),
  PathItem: extended('PathItem', { query: 'Operation', additionalOperations: 'AdditionalOperations' }),
  AdditionalOperations: mapOf('Operation'),
  Parameter: extended('Parameter', {
    in: { enum: ['query', 'querystring', 'header', 'path', 'cookie'] },
    style: parameterStyle,
  }),
  MediaType: extended('MediaType', { itemSchema: 'Schema', ...encodings }),
  Encoding: extended('Encoding', encodings),
  EncodingList: { properties: {}, items: 'Encoding' },
  Response: { ...extended('Response', { summary: text }), required: [] },
  Example: extended('Example', { dataValue: { isExample: true }, serializedValue: text }),
  Discriminator: extended('Discriminator', { defaultMapping: text }),
  Xml: extended('Xml', { nodeType: { enum: ['element', 'attribute', 'text', 'cdata', 'none'] } }),
  SecurityScheme: {
    ...extended('SecurityScheme', { deprecated: flag, oauth2MetadataUrl: text }),
    allowed: (value: { readonly type?: unknown } | undefined) => {
      const metadata = value?.type === 'oauth2' ? ['oauth2MetadataUrl'] : []
      return [...allowedFields('SecurityScheme', value), 'deprecated', ...metadata]
    },
  },
  OAuth2Flows: extended('OAuth2Flows', { deviceAuthorization: 'DeviceAuthorization' }),
  DeviceAuthorization: {
    properties: { deviceAuthorizationUrl: text, tokenUrl: text, refreshUrl: text, scopes: 'Scopes' },
    required: ['deviceAuthorizationUrl', 'tokenUrl', 'scopes'],
    extensionsPrefix: 'x-',
  },
  Scopes: mapOf(text),
}
