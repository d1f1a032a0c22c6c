// Bodies and answers by their media types: how each is read, checked and written, and which the server cannot hold to
// their schema.

import { essence, isJson, isMediaType, isRange, isUtf8 } from './media-types.js'
import { type Node, nodeOf, type Reader } from './reader.js'
import type { Content, Field, Schema } from './types.js'

/** What is declared for a body or an answer. */
export interface Contents {
  readonly contents: readonly Content[]
  /** Why the others are neither taken nor given, a sentence each. */
  readonly left: readonly string[]
}

interface Declared {
  /** Of the body or answer: `POST /pets: its body`. */
  readonly place: string
  readonly mediaType: string
  readonly media: Node
}

/**
 * Reads the types of a body or an answer. One that cannot be held to its schema is left out where there are others, and
 * is more than the server can read where there is none.
 */
export function readContents(reader: Reader, place: string, content: unknown, isBody: boolean): Contents {
  const declared = Object.entries(reader.node(content)).map(([mediaType, value]) => {
    return { place, mediaType, media: reader.node(value) }
  })
  checkTypes(reader, declared)
  if (isBody && declared.length === 0) reader.unread(`${place} has no content`)
  const read = declared.flatMap((each) => readContent(reader, each, isBody) ?? unchecked(each, isBody))
  const contents = read.filter((each) => typeof each !== 'string')
  const left = read.filter((each) => typeof each === 'string')
  if (contents.length > 0) return { contents, left }
  for (const text of left) reader.unread(text)
  return { contents, left: [] }
}

function checkTypes(reader: Reader, declared: readonly Declared[]): void {
  const known = new Set<string>()
  for (const { place, mediaType } of declared) {
    const name = essence(mediaType)
    if (!isMediaType(name)) reader.unread(`${place} ${mediaType} is no media type`)
    if (known.has(name))
      reader.unread(`${place} ${mediaType} is declared twice: parameters tell no types apart`)
    known.add(name)
  }
}

// Undefined where the server could not check it, or of a form why.
function readContent(
  reader: Reader,
  declared: Declared,
  isBody: boolean,
): Content | readonly string[] | undefined {
  const { mediaType, media } = declared
  const name = essence(mediaType)
  if (isJson(name) && !isRange(name)) {
    reader.follow(media.schema)
    return { mediaType, kind: 'json', schema: media.schema as Schema | boolean }
  }
  const schema = media.schema === undefined ? undefined : nodeOf(reader.inlined(media.schema))
  const isForm = name === 'application/x-www-form-urlencoded' || name === 'multipart/form-data'
  if (isForm && isBody && schema !== undefined) return readForm(reader, declared, schema)
  if (name.startsWith('text/') && !isRange(name) && !isFile(schema ?? {}))
    return readText(mediaType, schema, isBody)
  return isBytes(schema ?? {}, isBody && isRange(name)) ? { mediaType, kind: 'bytes', schema } : undefined
}

function unchecked({ place, mediaType }: Declared, isBody: boolean): string {
  const way = isRange(mediaType) ? 'name a type, or' : 'the server cannot hold it to its schema:'
  const what = isBody ? 'taken' : 'given'
  return `${place} ${mediaType} is not ${what}: ${way} leave the schema out, or say {type: string, format: binary}, for bytes`
}

function readText(mediaType: string, schema: Node | undefined, isBody: boolean): Content | undefined {
  const types = typesOf(schema ?? {})
  const known = isBody ? ['string', 'integer', 'number', 'boolean'] : ['string']
  const isScalar = types === undefined || types.every((type) => known.includes(type))
  if (!isScalar || !isUtf8(mediaType)) return undefined
  return { mediaType, kind: 'text', schema, types }
}

// Of files and bytes nothing is known but their length, which validation finds by the type: in a range, it is not looked for.
const ofBytes = ['type', 'format', 'minLength', 'maxLength', 'contentMediaType', 'allOf']
const ofAssertions =
  /^(const|enum|pattern|anyOf|oneOf|not|if|\$ref|contentEncoding|.*(items|properties|required).*|m(in|ax|ultiple|inimum).*)$/i

function isBytes(schema: Node, isAny: boolean): boolean {
  const isBounded = schema.minLength !== undefined || schema.maxLength !== undefined
  const isKnown = Object.keys(schema).every(
    (key) =>
      ofBytes.includes(key) ||
      !ofAssertions.test(key) ||
      (key === 'contentEncoding' && isAsIs(schema)) ||
      (['anyOf', 'oneOf'].includes(key) && !isBounded),
  )
  const types = [schema.type ?? 'string'].flat()
  const parts = [...listOf(schema.allOf), ...alternativesOf(schema)]
  return (
    isKnown &&
    !(isAny && isBounded) &&
    types.includes('string') &&
    parts.every((each) => isBytes(each, isAny))
  )
}

// RFC 2045, section 6.2: these encodings leave bytes as they are.
function isAsIs({ contentEncoding = 'binary' }: Node): boolean {
  return ['7bit', '8bit', 'binary'].includes(String(contentEncoding))
}

function isFile(schema: Node): boolean {
  const isMedia = schema.contentMediaType !== undefined && isAsIs(schema)
  const alternatives = alternativesOf(schema)
  return (
    schema.format === 'binary' ||
    schema.contentEncoding === 'binary' ||
    isMedia ||
    listOf(schema.allOf).some(isFile) ||
    (alternatives.length > 0 && alternatives.every(isFile))
  )
}

// Null aside, which only says that it may be left out.
function alternativesOf(schema: Node): Node[] {
  return [...listOf(schema.anyOf), ...listOf(schema.oneOf)].filter(({ type }) => type !== 'null')
}

function readForm(
  reader: Reader,
  { place, mediaType, media }: Declared,
  schema: Node,
): Content | readonly string[] {
  const isMultipart = essence(mediaType) === 'multipart/form-data'
  const parts = partsOf(schema)
  const encodings = reader.node(media.encoding)
  const problems: string[] = []
  const problem = (text: string) => problems.push(`${place} ${mediaType}: ${text}`)
  if (typesOf(schema)?.join() !== 'object') problem('a form is of type object')
  if (parts.some((each) => each.patternProperties !== undefined))
    problem('patternProperties are not supported in a form')
  const schemas = new Map<string, Node[]>()
  for (const [name, each] of parts.flatMap((part) => Object.entries(reader.node(part.properties)))) {
    schemas.set(name, [...(schemas.get(name) ?? []), nodeOf(each)])
  }
  for (const name of Object.keys(encodings))
    if (!schemas.has(name)) problem(`encoding.${name} is of no field of its schema`)
  const read = (name: string, each: Node[]) => {
    const encoding = reader.node(Object.hasOwn(encodings, name) ? encodings[name] : undefined)
    const field = readField(each, encoding, isMultipart)
    const isOpen = !schemas.has(name)
    const fault =
      isOpen && typeof field !== 'string' && field.kind === 'file' ? 'is a file: files need names' : field
    if (typeof fault !== 'string') return fault
    problem(`the field ${name} ${fault}`)
    return plainField
  }
  const others = parts.flatMap(({ additionalProperties: each }) =>
    typeof each === 'object' && each ? [each as Node] : [],
  )
  const fields = new Map([...schemas].map(([name, each]) => [name, read(name, each)]))
  const rest = others.length > 0 ? read('of any other name', others) : undefined
  if (problems.length > 0) return problems
  const kind = isMultipart ? 'multipart' : 'form'
  return { mediaType, kind, schema: media.schema as Schema, fields, others: rest }
}

/** A field of which nothing is said. */
export const plainField: Field = {
  kind: 'text',
  isList: false,
  types: undefined,
  separator: undefined,
  mediaTypes: [],
}

// The field, or why it cannot be read (OpenAPI 3.1, section 4.8.15, and its tables of defaults).
function readField(schemas: readonly Node[], encoding: Node, isMultipart: boolean): Field | string {
  const types = unionOf(schemas.map(typesOf))
  const listed = types?.filter((type) => type !== 'null') ?? []
  const fault = encodingFault(encoding, isMultipart, listed.includes('object'))
  if (fault !== undefined) return fault
  if (!listed.includes('array')) return readSingle(schemas, types, encoding, isMultipart)
  if (listed.length > 1) return 'may be a list or something else, which text cannot tell apart'
  const items = schemas
    .flatMap(partsOf)
    .flatMap((part) => (part.items === undefined ? [] : [nodeOf(part.items)]))
  const item = readSingle(items, unionOf(items.map(typesOf)), encoding, isMultipart)
  if (typeof item === 'string') return item
  return { ...item, isList: true, separator: separatorOf(encoding) }
}

function encodingFault(
  { headers, style, explode, contentType = '' }: Node,
  isMultipart: boolean,
  isObject: boolean,
): string | undefined {
  if (isMultipart && headers !== undefined) return 'has an encoding with headers, which are not supported'
  // A list in a part for each of its values is how a form in parts has it anyway.
  const isUsual = (style ?? 'form') === 'form' && explode !== false && !isObject
  if (isMultipart && (style !== undefined || explode !== undefined) && !isUsual)
    return 'has a style, which is not supported in multipart'
  if (style !== undefined && !['form', 'spaceDelimited', 'pipeDelimited'].includes(String(style)))
    return `has the style ${style}, which is not supported in a form`
  if (explode === true && style !== undefined && style !== 'form')
    return `has the style ${style}, which has no explode: true`
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
  const mediaTypes =
    contentType === undefined
      ? []
      : String(contentType)
          .split(',')
          .map((each) => each.trim())
  const field = { ...plainField, types, mediaTypes }
  if (types?.includes('array')) return 'is a list of lists, which is not supported in a form'
  if (mediaTypes.some(isJson) && mediaTypes.length > 1)
    return 'may be JSON or something else, which is not supported'
  if (mediaTypes.some(isJson)) return { ...field, kind: 'json' }
  if (types?.includes('object')) {
    if (types.some((type) => type !== 'object' && type !== 'null'))
      return 'may be an object or something else, which text cannot tell apart'
    if (mediaTypes.length > 0) return `is an object as ${contentType}, which is not supported`
    return isMultipart
      ? { ...field, kind: 'json' }
      : 'is an object: give it an encoding with contentType: application/json'
  }
  const ofFiles = mediaTypes.some((each) => !essence(each).startsWith('text/'))
  const files = schemas.filter((each) => ofFiles || isFile(each))
  if (!isMultipart || files.length === 0) return field
  if (files.length < schemas.length) return 'may be a file or something else, which is not supported'
  return files.every((each) => isBytes(each, false))
    ? { ...field, kind: 'file' }
    : 'is a file with more than a length to check'
}

/** A schema and all that it is composed of, of which any may name fields. */
function partsOf(schema: Node): Node[] {
  const composed = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => listOf(schema[keyword]))
  const conditional = ['then', 'else'].flatMap((keyword) =>
    schema[keyword] === undefined ? [] : [nodeOf(schema[keyword])],
  )
  return [schema, ...[...composed, ...conditional].flatMap(partsOf)]
}

/** The types that a schema allows, as far as it says; undefined for any. */
function typesOf(schema: Node): readonly string[] | undefined {
  if (schema.type !== undefined) return [schema.type].flat() as string[]
  if (schema.const !== undefined) return [typeOf(schema.const)]
  if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOf))]
  const all = listOf(schema.allOf).flatMap((each) => typesOf(each)?.join() ?? [])
  if (all[0] !== undefined) return all[0].split(',')
  for (const keyword of ['anyOf', 'oneOf']) {
    const union = unionOf(listOf(schema[keyword]).map(typesOf))
    if (union !== undefined && union.length > 0) return union
  }
  if (schema.properties !== undefined) return ['object']
  return schema.items === undefined ? undefined : ['array']
}

function unionOf(types: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const known = types.flatMap((each) => (each === undefined ? [] : [each]))
  return known.length < types.length ? undefined : [...new Set(known.flat())]
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function listOf(value: unknown): Node[] {
  return Array.isArray(value) ? value.map(nodeOf) : []
}
