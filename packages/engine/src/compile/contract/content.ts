// Media Type Objects of request bodies and responses: how each is read and validated, and which ones the
// server cannot validate.

import { typesOf, unionOf } from '../../document/allowed-types.js'
import type { Content, Field, Schema } from '../../document/contract.js'
import { framingOf } from '../../document/framing.js'
import { partsOf, type Subschema, subschemasOf } from '../../document/keywords.js'
import { elementsOf, essence, isJson, isMediaType, isRange, isUtf8 } from '../../document/media-types.js'
import { plainField } from '../../document/plain-field.js'
import { type Faults, found, type Node, nodeOf, nodesOf, type Reader } from '../../document/reader.js'
import { columnsOf } from './csv.js'
import { readItems } from './items.js'

interface Declared {
  /** `POST /pets: the request body`. */
  readonly place: string
  readonly mediaType: string
  readonly media: Node
}

/** What a body is for: a request, a response, or a response that is an error. */
export type Use = 'request' | 'response' | 'error'

/**
 * Reads the media types of a request body or a response. A media type that the server cannot validate is
 * skipped if there is another one, with a warning; otherwise the operation is unsupported.
 */
export function readContents(reader: Reader, place: string, content: unknown, use: Use): Content[] {
  const declared = Object.entries(reader.node(content)).map(([mediaType, value]) => {
    return { place, mediaType, media: reader.node(value) }
  })
  checkTypes(reader, declared)
  if (use === 'request' && declared.length === 0) reader.unsupported(`${place} has no content`)
  const read = declared.flatMap((each) => readContent(reader, each, use) ?? unsupported(each))
  const contents = read.filter((each) => typeof each !== 'string')
  for (const text of read.filter((each) => typeof each === 'string')) {
    if (contents.length > 0) reader.warn(text)
    else reader.unsupported(text)
  }
  return contents
}

function checkTypes(reader: Reader, declared: readonly Declared[]): void {
  const known = new Set<string>()
  for (const { place, mediaType } of declared) {
    const name = essence(mediaType)
    if (!isMediaType(name)) reader.unsupported(`${place} ${mediaType} is not a media type`)
    if (known.has(name))
      reader.unsupported(`${place} ${mediaType} is declared twice: parameters do not distinguish media types`)
    known.add(name)
  }
}

// Undefined if the server cannot validate it; for a form and CSV, the reasons.
function readContent(reader: Reader, declared: Declared, use: Use): Content | readonly string[] | undefined {
  const { mediaType, media } = declared
  const isBody = use === 'request'
  const name = essence(mediaType)
  if (isStream(reader, declared, use)) return readStream(reader, declared, use)
  if (isJson(name) && !isRange(name)) {
    reader.checkRefs(media.schema)
    return { mediaType, kind: 'json', schema: media.schema as Schema | boolean }
  }
  const schema = media.schema === undefined ? undefined : nodeOf(reader.dereferenced(media.schema))
  const isForm = name === 'application/x-www-form-urlencoded' || name === 'multipart/form-data'
  if (isForm && isBody && schema !== undefined) return readForm(reader, declared, schema)
  const columns = name === 'text/csv' && !isBody ? columnsOf(schema ?? {}) : undefined
  if (columns !== undefined) return readCsv(reader, declared, columns)
  if (name.startsWith('text/') && !isRange(name) && !isFile(schema ?? {}))
    return readText(mediaType, schema, isBody)
  return isBytes(schema ?? {}, isBody && isRange(name)) ? { mediaType, kind: 'bytes', schema } : undefined
}

// In a request, what has no itemSchema is a body like any other.
function isStream(reader: Reader, { mediaType, media }: Declared, use: Use): boolean {
  if (media.itemSchema !== undefined) return true
  if (use === 'request' || framingOf(mediaType) === undefined) return false
  const schema = nodeOf(reader.dereferenced(media.schema))
  return framingOf(mediaType) === 'sse' ? !isFile(schema) : !isBytes(schema, false)
}

const noStreams = {
  request: 'is a stream of items, which is not supported in a request: remove itemSchema, and read the bytes',
  error: 'is a stream of items, which is not supported for an error',
}

function readStream(
  reader: Reader,
  { place, mediaType, media }: Declared,
  use: Use,
): Content | readonly string[] {
  const items = use === 'response' ? readItems(reader, mediaType, media) : noStreams[use]
  if (media.itemSchema !== undefined && !reader.version.startsWith('3.2'))
    reader.warn(`${place} ${mediaType} has itemSchema, of OpenAPI 3.2: other tools need openapi: 3.2.0`)
  return typeof items === 'string'
    ? [`${place} ${mediaType} ${items}`]
    : { mediaType, kind: 'stream', ...items }
}

function unsupported({ place, mediaType }: Declared): string {
  const fix = 'remove the schema or use {type: string, format: binary} for raw bytes'
  return isRange(mediaType)
    ? `${place} ${mediaType} is not supported with its schema: ` +
        `name a single media type, or ${fix}, without a length`
    : `${place} ${mediaType} cannot be validated against its schema: ${fix}`
}

function readCsv(
  reader: Reader,
  { place, mediaType, media }: Declared,
  columns: readonly string[] | string,
): Content | readonly string[] {
  if (typeof columns === 'string') return [`${place} ${mediaType} cannot be written as CSV: ${columns}`]
  if (!isUtf8(mediaType)) return [`${place} ${mediaType} cannot be written as CSV: it is sent in UTF-8`]
  reader.checkRefs(media.schema)
  return { mediaType, kind: 'csv', schema: media.schema as Schema, columns }
}

function readText(mediaType: string, schema: Node | undefined, isBody: boolean): Content | undefined {
  const types = typesOf(schema ?? {})
  const known = isBody ? ['string', 'integer', 'number', 'boolean'] : ['string']
  const isScalar = types === undefined || types.every((type) => known.includes(type))
  if (!isScalar || !isUtf8(mediaType)) return undefined
  return { mediaType, kind: 'text', schema, types }
}

// Only the length of bytes can be validated, and only for a single media type: validators are found by type,
// which a range is not.
const bytesKeywords = ['type', 'format', 'minLength', 'maxLength', 'contentMediaType', 'allOf']
const assertionKeywords = new RegExp(
  '^(const|enum|pattern|anyOf|oneOf|not|if|\\$ref|contentEncoding|m(in|ax|ultiple).*)$' +
    '|items|properties|required',
  'i',
)

function isBytes(schema: Node, isAny: boolean): boolean {
  const isBounded = schema.minLength !== undefined || schema.maxLength !== undefined
  const isKnown = Object.keys(schema).every(
    (key) =>
      bytesKeywords.includes(key) ||
      !assertionKeywords.test(key) ||
      (key === 'contentEncoding' && isUnencoded(schema)) ||
      (['anyOf', 'oneOf'].includes(key) && !isBounded),
  )
  const types = [schema.type ?? 'string'].flat()
  const parts = [...nodesOf(schema.allOf), ...alternativesOf(schema)]
  return (
    isKnown &&
    !(isAny && isBounded) &&
    types.includes('string') &&
    parts.every((each) => isBytes(each, isAny))
  )
}

// RFC 2045, section 6.2: these encodings leave bytes unchanged.
function isUnencoded({ contentEncoding = 'binary' }: Node): boolean {
  return ['7bit', '8bit', 'binary'].includes(String(contentEncoding))
}

function isFile(schema: Node): boolean {
  const isMedia = schema.contentMediaType !== undefined && isUnencoded(schema)
  const alternatives = alternativesOf(schema)
  return (
    schema.format === 'binary' ||
    schema.contentEncoding === 'binary' ||
    isMedia ||
    nodesOf(schema.allOf).some(isFile) ||
    (alternatives.length > 0 && alternatives.every(isFile))
  )
}

// Without null, which only allows the value to be absent.
function alternativesOf(schema: Node): Node[] {
  return [...nodesOf(schema.anyOf), ...nodesOf(schema.oneOf)].filter(({ type }) => type !== 'null')
}

function readForm(reader: Reader, declared: Declared, schema: Node): Content | readonly string[] {
  const { place, mediaType, media } = declared
  const isMultipart = essence(mediaType) === 'multipart/form-data'
  const parts = partsOf(schema)
  const schemas = propertiesOf(reader, parts)
  const encodings = reader.node(media.encoding)
  const unknown = Object.keys(encodings).filter((name) => !schemas.has(name))
  const problems = [
    ...found(formFaults(media, schema, parts)),
    ...unknown.map((name) => `encoding.${name} is not a property of the schema`),
  ]
  const fields = new Map<string, Field>()
  for (const [name, each] of schemas) {
    const encoding = Object.hasOwn(encodings, name) ? encodings[name] : undefined
    const field = readField(each, reader.node(encoding), isMultipart)
    if (typeof field === 'string') problems.push(`the field ${name} ${field}`)
    else fields.set(name, field)
  }
  const additionalField = readOthers(parts, isMultipart)
  if (typeof additionalField === 'string') problems.push(additionalField)
  else if (problems.length === 0)
    return {
      mediaType,
      kind: isMultipart ? 'multipart' : 'form',
      schema: media.schema as Schema,
      fields,
      additionalField,
    }
  return problems.map((text) => `${place} ${mediaType}: ${text}`)
}

function formFaults(media: Node, schema: Node, parts: readonly Node[]): Faults {
  const isByPosition = (media.prefixEncoding ?? media.itemEncoding) !== undefined
  const isPatterned = parts.some((each) => each.patternProperties !== undefined)
  return [
    [typesOf(schema)?.join() !== 'object', 'the schema of a form must have type: object'],
    [isByPosition, 'prefixEncoding and itemEncoding are not supported: name the parts'],
    [isPatterned, 'patternProperties are not supported in a form'],
  ]
}

function propertiesOf(reader: Reader, parts: readonly Node[]): ReadonlyMap<string, readonly Node[]> {
  const schemas = new Map<string, Node[]>()
  for (const [name, each] of parts.flatMap((part) => Object.entries(reader.node(part.properties)))) {
    schemas.set(name, [...(schemas.get(name) ?? []), nodeOf(each)])
  }
  return schemas
}

// The field of any other name, if it has a schema; or why it is not supported.
function readOthers(parts: readonly Node[], isMultipart: boolean): Field | string | undefined {
  const others = membersIn(parts, otherKeywords)
  const [first] = others
  if (first === undefined) return undefined
  const schemas = others.map(({ schema }) => schema)
  const field = readField(schemas, {}, isMultipart)
  if (typeof field === 'string') return `${first.keyword} ${field}`
  if (field.kind !== 'file') return field
  return `${first.keyword} is a file, which is not supported: declare each file in properties`
}

// The field, or why it is not supported (OpenAPI 3.1, section 4.8.15, and its tables of defaults).
function readField(schemas: readonly Node[], encoding: Node, isMultipart: boolean): Field | string {
  const types = unionOf(schemas.map(typesOf))
  const listed = types?.filter((type) => type !== 'null') ?? []
  const fault = encodingFault(encoding, isMultipart, listed.includes('object'))
  if (fault !== undefined) return fault
  if (!listed.includes('array')) return readSingle(schemas, types, encoding, isMultipart)
  if (listed.length > 1) return 'allows an array and another type, which text does not distinguish'
  const items = membersIn(schemas.flatMap(partsOf), itemKeywords).map((each) => each.schema)
  const item = readSingle(items, unionOf(items.map(typesOf)), encoding, isMultipart)
  if (typeof item === 'string') return item
  return { ...item, isList: true, separator: separatorOf(encoding) }
}

const itemKeywords = ['prefixItems', 'items', 'unevaluatedItems']
const otherKeywords = ['additionalProperties', 'unevaluatedProperties']

function membersIn(parts: readonly Node[], keywords: readonly string[]): Subschema[] {
  return parts.flatMap(subschemasOf).filter(({ keyword }) => keywords.includes(keyword))
}

function encodingFault(
  { headers, style, explode, contentType = '', ...others }: Node,
  isMultipart: boolean,
  isObject: boolean,
): string | undefined {
  if (['encoding', 'prefixEncoding', 'itemEncoding'].some((each) => each in others))
    return 'has an encoding within its encoding, which is not supported'
  if (isMultipart && headers !== undefined) return 'has an encoding with headers, which are not supported'
  // One part per item is how multipart sends an array anyway.
  const isDefault = (style ?? 'form') === 'form' && explode !== false && !isObject
  if (isMultipart && (style !== undefined || explode !== undefined) && !isDefault)
    return 'has a style, which is not supported in multipart'
  if (style !== undefined && !['form', 'spaceDelimited', 'pipeDelimited'].includes(String(style)))
    return `has the style ${style}, which is not supported in a form`
  if (explode === true && style !== undefined && style !== 'form')
    return `has the style ${style}, which does not allow explode: true`
  if (
    !isMultipart &&
    contentType !== '' &&
    !isJson(String(contentType)) &&
    essence(String(contentType)) !== 'text/plain'
  )
    return `has the contentType ${contentType}, which is not supported in a form`
  return undefined
}

function separatorOf({ style = 'form', explode }: Node): string | undefined {
  if (style === 'spaceDelimited') return ' '
  if (style === 'pipeDelimited') return '|'
  return explode === false ? ',' : undefined
}

function readSingle(
  schemas: readonly Node[],
  types: readonly string[] | undefined,
  { contentType }: Node,
  isMultipart: boolean,
): Field | string {
  const mediaTypes = contentType === undefined ? [] : elementsOf(String(contentType))
  const field = { ...plainField, types, mediaTypes }
  if (types?.includes('array')) return 'is an array of arrays, which is not supported in a form'
  if (mediaTypes.some(isJson) && mediaTypes.length > 1)
    return 'has JSON and another contentType, which is not supported'
  if (mediaTypes.some(isJson)) return { ...field, kind: 'json' }
  if (types?.includes('object')) {
    if (types.some((type) => type !== 'object' && type !== 'null'))
      return 'allows an object and another type, which text does not distinguish'
    if (mediaTypes.length > 0) return `is an object as ${contentType}, which is not supported`
    return isMultipart
      ? { ...field, kind: 'json' }
      : 'is an object: add an encoding with contentType: application/json'
  }
  const ofFiles = mediaTypes.some((each) => !essence(each).startsWith('text/'))
  const files = schemas.filter((each) => ofFiles || isFile(each))
  if (!isMultipart || files.length === 0) return field
  if (files.length < schemas.length) return 'allows a file and another type, which is not supported'
  return files.every((each) => isBytes(each, false))
    ? { ...field, kind: 'file' }
    : 'is a file: only its minLength and maxLength can be validated'
}
