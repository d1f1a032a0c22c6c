// Reads from the contract the fields of forms.

import { allowedTypes, ofArrays, unionOf } from '../../document/allowed-types.js'
import type { Content, Field, Schema } from '../../document/contract.js'
import { schemasOfValue, subschemasBy } from '../../document/keywords.js'
import { essence, isJson } from '../../document/media-types.js'
import { type Faults, found, type Node, nodeOf, type Reader } from '../../document/reader.js'
import { elementsOf } from '../../lib/field-values.js'
import { quote } from '../../lib/texts.js'
import { isBytes, isFile } from '../bytes/declared.js'
import { type Declared, type DeclaredKind, schemaOf } from '../declared-kind.js'
import { withFiles } from './declared-files.js'
import { plainField } from './served.js'

export const form: DeclaredKind = {
  read: formOf('form', 'application/x-www-form-urlencoded'),
  type: (_, value) => value,
}

export const multipart: DeclaredKind = {
  read: formOf('multipart', 'multipart/form-data'),
  type({ fields = new Map<string, Field>() }, value, { file }) {
    const files = [...fields].flatMap(([name, { kind }]) => (kind === 'file' ? [quote(name)] : []))
    if (files.length === 0) return value
    return `WithFiles<${[value, files.join(' | '), ...(file === 'Uint8Array' ? [] : [file])].join(', ')}>`
  },
  upload: withFiles,
}

function formOf(kind: 'form' | 'multipart', name: string): DeclaredKind['read'] {
  return (reader, declared, use) => {
    const schema = schemaOf(reader, declared)
    const isIt = essence(declared.mediaType) === name && use === 'request' && schema !== undefined
    return isIt ? readForm(reader, declared, schema, kind) : undefined
  }
}

function readForm(
  reader: Reader,
  declared: Declared,
  schema: Node,
  kind: 'form' | 'multipart',
): Content | readonly string[] {
  const { place, mediaType, media } = declared
  const isMultipart = kind === 'multipart'
  const parts = schemasOfValue(schema)
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
      kind,
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
    [allowedTypes(schema)?.join() !== 'object', 'the schema of a form must have type: object'],
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

// Returns the field for any undeclared name, if it has a schema; or why the field is not supported.
function readOthers(parts: readonly Node[], isMultipart: boolean): Field | string | undefined {
  const others = subschemasBy(parts, otherKeywords)
  const [first] = others
  if (first === undefined) return undefined
  const schemas = others.map(({ schema }) => schema)
  const field = readField(schemas, {}, isMultipart)
  if (typeof field === 'string') return `${first.keyword} ${field}`
  if (field.kind !== 'file') return field
  return `${first.keyword} is a file, which is not supported: declare each file in properties`
}

// Returns a field, or why it is not supported (OpenAPI 3.1, section 4.8.15, and its tables of defaults).
function readField(schemas: readonly Node[], encoding: Node, isMultipart: boolean): Field | string {
  const types = unionOf(schemas.map(allowedTypes))
  const listed = types?.filter((type) => type !== 'null') ?? []
  const fault = encodingFault(encoding, isMultipart, listed.includes('object'))
  if (fault !== undefined) return fault
  if (!listed.includes('array')) return readSingle(schemas, types, encoding, isMultipart)
  if (listed.length > 1) return 'allows an array and another type, which text does not distinguish'
  const items = subschemasBy(schemas.flatMap(schemasOfValue), ofArrays).map((each) => each.schema)
  const item = readSingle(items, unionOf(items.map(allowedTypes)), encoding, isMultipart)
  if (typeof item === 'string') return item
  return { ...item, isList: true, separator: separatorOf(encoding) }
}

const otherKeywords = ['additionalProperties', 'unevaluatedProperties']

function encodingFault(
  { headers, style, explode, contentType = '', ...others }: Node,
  isMultipart: boolean,
  isObject: boolean,
): string | undefined {
  if (['encoding', 'prefixEncoding', 'itemEncoding'].some((each) => each in others))
    return 'has an encoding within its encoding, which is not supported'
  if (isMultipart && headers !== undefined) return 'has an encoding with headers, which are not supported'
  // By default, multipart sends one part for each item of an array.
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
