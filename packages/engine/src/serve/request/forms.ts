// Parses form bodies: application/x-www-form-urlencoded (the URL Standard, section 5.1) and
// multipart/form-data (RFC 7578). Each field is parsed as its schema and encoding declare, so that it can be
// validated like JSON.

import { type MultipartPart, parseMultipart } from '@remix-run/multipart-parser'
import type { ErrorObject } from 'ajv'
import type { Content, Field } from '../../document/contract.js'
import { accepts, essence, isUtf8 } from '../../document/media-types.js'
import { plainField } from '../../document/plain-field.js'
import { ownError, RequestError } from '../base/errors.js'
import { parseJson } from '../schemas/json.js'
import { errorAt } from '../schemas/messages.js'
import { decodeText, noText, readText } from '../schemas/text.js'
import { splitPair } from './parameter-text.js'

/** The fields by name, and the errors of those that could not be parsed. */
export interface Form {
  readonly value: Readonly<Record<string, unknown>>
  readonly faults: readonly ErrorObject[]
}

/** The fields of a form, or its parts: far more than it has, and few enough to parse quickly. */
export const partsMax = 1_000
/** The bytes of the headers of a part. */
export const headersMax = 8_192

/**
 * Parses a form.
 * @throws {RequestError} `invalid_request` when the body is not one
 */
export function readForm(bytes: Uint8Array, contentType: string, content: Content): Form {
  const isMultipart = content.kind === 'multipart'
  const entries = isMultipart ? multipartEntries(bytes, contentType, content) : urlencodedEntries(bytes)
  const given = new Map<string, Entry[]>()
  for (const entry of entries.filter((each) => !isUnchosen(each))) {
    const others = given.get(entry.name)
    if (others === undefined) given.set(entry.name, [entry])
    else others.push(entry)
  }
  const faults: ErrorObject[] = []
  const values = [...given].flatMap(([name, all]) => {
    if (all.some((each) => isUnknownFile(content, each))) {
      faults.push(errorAt([name], unknownField))
      return []
    }
    const field = content.fields?.get(name) ?? content.additionalField ?? plainField
    return [[name, readField(name, all, field, faults)]]
  })
  return { value: Object.fromEntries(values), faults }
}

/** What is wrong with a part whose name the contract does not have. */
export const unknownField = 'is not a known field'

/** Whether it is a file that nothing of the contract describes: as text, its bytes would be lost. */
export function isUnknownFile(
  { fields, additionalField }: Content,
  { name, fileName }: Pick<Entry, 'name' | 'fileName'>,
): boolean {
  const isDescribed = additionalField?.kind === 'json' || additionalField?.types !== undefined
  return fileName !== undefined && !isDescribed && fields?.has(name) !== true
}

// What a browser sends for a file input in which none was chosen (WHATWG HTML, section 4.10.22.4).
function isUnchosen({ fileName, bytes }: Entry): boolean {
  return fileName === '' && bytes.length === 0
}

interface Entry {
  readonly name: string
  /** Of a file; empty if it has none. Undefined of any other part. */
  readonly fileName?: string | undefined
  /** Undefined if it is not UTF-8 or contains NUL. */
  readonly text: () => string | undefined
  readonly bytes: Uint8Array
  readonly mediaType: string | undefined
  readonly transferEncoding?: string | undefined
}

function readField(name: string, entries: readonly Entry[], field: Field, faults: ErrorObject[]): unknown {
  const read = (entry: Entry, ...at: number[]) =>
    readEntry(entry, field, (problem) => void faults.push(errorAt([name, ...at], problem)))
  if (field.isList) {
    const items = entries.flatMap((entry) => split(entry, field.separator))
    return items.map((entry, i) => read(entry, i))
  }
  if (entries.length > 1) faults.push(errorAt([name], 'must be given once'))
  return entries[0] && read(entries[0])
}

type Refuse = (problem: string) => undefined

// RFC 7578, section 4.7, deprecates encodings of parts: these leave the bytes as they are.
const identities = ['7bit', '8bit', 'binary']

function readEntry(entry: Entry, { kind, types, mediaTypes }: Field, refuse: Refuse): unknown {
  const { transferEncoding = '' } = entry
  if (transferEncoding !== '' && !identities.includes(transferEncoding.toLowerCase()))
    return refuse(`must be sent as it is, without the Content-Transfer-Encoding ${transferEncoding}`)
  const isOther = entry.mediaType !== undefined || kind === 'file'
  const type = entry.mediaType ?? 'text/plain' // RFC 7578, section 4.4
  if (isOther && mediaTypes.length > 0 && !mediaTypes.some((each) => accepts(each, type)))
    return refuse(`must be of type ${mediaTypes.join(' or ')}`)
  if (kind === 'file') return withType(entry.bytes, entry.mediaType)
  if (kind === 'json') return readJson(entry, refuse)
  const text = entry.text()
  return text === undefined ? refuse(noText) : readText(text, types)
}

/**
 * A file, of bytes or a stream, with the media type of its part, which is undefined if the part has none. It
 * is not enumerable: files are compared by their bytes.
 */
export function withType<File extends object>(file: File, type: string | undefined): File {
  return Object.defineProperty(file, 'type', { value: type })
}

function readJson(entry: Entry, refuse: Refuse): unknown {
  try {
    return parseJson(entry.bytes)
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    return refuse(`must be JSON: ${error.message.replace(/^The body/, 'it').replace(/\.$/, '')}`)
  }
}

function split(entry: Entry, separator: string | undefined): Entry[] {
  const text = separator === undefined ? undefined : entry.text()
  if (separator === undefined || text === undefined) return [entry]
  if (text === '') return []
  const { name, mediaType } = entry
  return text.split(separator).map((each) => new Item(name, each, mediaType))
}

// One of a list. There may be as many as a body has bytes, so the bytes of each are made where they are
// needed.
class Item implements Entry {
  constructor(
    readonly name: string,
    readonly item: string,
    readonly mediaType: string | undefined,
  ) {}

  text(): string {
    return this.item
  }

  get bytes(): Uint8Array {
    return Buffer.from(this.item)
  }
}

function urlencodedEntries(bytes: Uint8Array): Entry[] {
  return pairsIn(Buffer.from(bytes).toString('latin1')).map((pair) => {
    const [name, value] = splitPair(pair)
    return entryOf(decodeText(percentDecoded(name)), percentDecoded(value), undefined)
  })
}

function pairsIn(text: string): string[] {
  const pairs: string[] = []
  for (let from = 0, to = 0; from < text.length; from = to + 1) {
    to = text.indexOf('&', from)
    if (to === -1) to = text.length
    if (to > from) pairs.push(text.slice(from, to))
    if (pairs.length > partsMax) throw malformed(`it has more than ${partsMax} fields`)
  }
  return pairs
}

const [space, percent, plus] = [0x20, 0x25, 0x2b]

// A percent sign without two hex digits is left as it is.
function percentDecoded(text: string): Buffer {
  const decoded = Buffer.from(text, 'latin1')
  let length = 0
  for (let i = 0; i < decoded.length; i++) {
    const byte = decoded[i] as number
    const escaped = byte === percent ? escapedByte(decoded, i) : undefined
    if (escaped !== undefined) i += 2
    decoded[length++] = escaped ?? (byte === plus ? space : byte)
  }
  return decoded.subarray(0, length)
}

function escapedByte(bytes: Buffer, at: number): number | undefined {
  const [high, low] = [hexDigit(bytes[at + 1]), hexDigit(bytes[at + 2])]
  return high === undefined || low === undefined ? undefined : 16 * high + low
}

function hexDigit(code = 0): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20 // in lower case
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

// RFC 2046, section 5.1.1.
const boundaryMax = 70

/** The boundary of a form's parts. @throws {RequestError} `invalid_request` */
export function boundaryOf(contentType: string): string {
  const [, quoted, token] = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? token
  if (boundary === undefined) throw malformed('its Content-Type names no boundary')
  if (boundary.length > boundaryMax) throw malformed(`its boundary is longer than ${boundaryMax} characters`)
  return boundary
}

/** What the headers of a part say. */
export interface Head {
  readonly name: string
  /** Of a file; empty if it has none. Undefined of any other part. */
  readonly fileName: string | undefined
  /** The media type, if they say one. */
  readonly type: string | undefined
  /** What is wrong with the media type, if it is a file. */
  readonly problem: string | undefined
}

/**
 * Reads the headers of a part.
 * @param head from the end of the boundary to the empty line
 * @throws {RequestError} `invalid_request`
 */
export function readHead(head: Uint8Array, contentType: string, content: Content): Head {
  const boundary = boundaryOf(contentType)
  const part = Buffer.concat([Buffer.from(`--${boundary}`), head, Buffer.from(`\r\n--${boundary}--`)])
  const [entry] = multipartEntries(part, contentType, content)
  if (entry === undefined) throw malformed('it has a part without headers')
  const { name, fileName, mediaType } = entry
  const field = content.fields?.get(name)
  let problem: string | undefined
  if (field?.kind === 'file')
    readEntry(entry, field, (text) => {
      problem = text
      return undefined
    })
  return { name, fileName, type: mediaType, problem }
}

function multipartEntries(bytes: Uint8Array, contentType: string, { fields }: Content): Entry[] {
  const boundary = boundaryOf(contentType)
  const parts = partsIn(Buffer.concat([Buffer.from('\r\n'), bytes]), Buffer.from(`\r\n--${boundary}`))
  const options = { boundary, maxParts: partsMax, maxHeaderSize: headersMax, maxFileSize: bytes.length }
  try {
    return [...parseMultipart(parts, options)].map((part) => entryOfPart(part, fields))
  } catch (error) {
    throw error instanceof RequestError ? error : malformed((error as Error).message)
  }
}

// What the parser can read. RFC 2046, section 5.1.1: any lines may precede the first boundary, which it
// expects at the start. It skips whatever ends a boundary's line, and takes all to the next empty line for
// headers: behind a part without headers, it would lose the next boundary in them, and a part.
function partsIn(lines: Buffer, delimiter: Buffer): Buffer {
  const first = lines.indexOf(delimiter)
  if (first === -1) throw malformed('none of its lines is its boundary')
  for (let at = first, parts = 0; at !== -1 && parts <= partsMax; parts++) {
    const start = at + delimiter.length
    if (isClosing(lines, start)) break
    if (!endsLine(lines, start)) throw malformed(continuedBoundary)
    at = lines.indexOf(delimiter, start)
    if (at !== -1 && !lines.subarray(start + 2, at).includes(headersEnd))
      throw malformed('it has a part without headers')
  }
  return lines.subarray(first + 2)
}

/** Where the headers of a part end. */
export const headersEnd = '\r\n\r\n'

/** What is wrong with a line that begins with the boundary, and goes on. */
export const continuedBoundary = 'a line begins with its boundary, and goes on'

/** Behind a boundary, what ends a form. */
export const closing = Buffer.from('--')

/** Whether the boundary before is the last. */
export function isClosing(bytes: Buffer, at: number): boolean {
  return bytes.subarray(at, at + closing.length).equals(closing)
}

/** Whether a boundary ends at its line's end, or in front of spaces. */
export function endsLine(bytes: Buffer, at: number): boolean {
  return at >= bytes.length || [0x0d, 0x20, 0x09].includes(bytes[at] as number)
}

function entryOfPart(part: MultipartPart, fields: Content['fields']): Entry {
  const { mediaType, headers } = part
  const name = part.name && fieldName(part.name, fields)
  const entry = {
    ...entryOf(name, Buffer.from(part.bytes), mediaType && essence(mediaType)),
    fileName: part.filename ?? emptyFileName(headers['content-disposition'] ?? ''),
    transferEncoding: headers['content-transfer-encoding']?.trim(),
  }
  return isUtf8(headers['content-type'] ?? '') ? entry : { ...entry, text: () => undefined }
}

// WHATWG HTML, section 4.10.22.8, writes these characters so, and a percent sign as it is: only a name that
// is declared tells what was meant.
function fieldName(name: string, fields: Content['fields']): string {
  if (!name.includes('%') || fields?.has(name)) return name
  const decoded = name.replace(/%(0A|0D|22)/gi, decodeURIComponent)
  return fields?.has(decoded) ? decoded : name
}

// The parser takes an empty `filename*` for none.
function emptyFileName(disposition: string): '' | undefined {
  return /;\s*filename\*=[^'";]*'[^'";]*'\s*(?:;|$)/i.test(disposition) ? '' : undefined
}

function entryOf(name: string | undefined, bytes: Buffer, mediaType: string | undefined): Entry {
  if (name === undefined || name.includes('\0')) throw malformed('it has a field without a name in UTF-8')
  return { name, text: () => decodeText(bytes), bytes, mediaType }
}

/** The error of a body that is not a form. */
export function malformed(reason: string): RequestError {
  return ownError('invalid_request', `The body is not a valid form: ${reason}.`)
}
