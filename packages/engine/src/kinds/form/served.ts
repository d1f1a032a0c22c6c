// Forms: reads the fields of application/x-www-form-urlencoded (the URL Standard, section 5.1), and has what
// multipart.ts shares. Each field is parsed as its schema and encoding declare, so that it can be validated
// like JSON.

import type { ErrorObject } from 'ajv'
import type { Content, Field } from '../../document/contract.js'
import { accepts } from '../../document/media-types.js'
import { ownError, RequestError } from '../../document/request-error.js'
import { splitPair } from '../../lib/texts.js'
import { parseJson } from '../../runtime/json.js'
import { errorAt } from '../../runtime/messages.js'
import { convertedText, decodeText, noText } from '../../runtime/text.js'
import type { ServedKind } from '../kind.js'

export const form: ServedKind = {
  isText: true,
  isOfValue: false,
  streams: undefined,
  receivedAs: 'bytes',
  received: {
    read: readForm,
    query: 'encoded',
  },
}

/** A field that the contract does not mention. */
export const plainField: Field = {
  kind: 'text',
  isList: false,
  types: undefined,
  separator: undefined,
  mediaTypes: [],
}

/** The fields by name, and the errors of fields that could not be parsed. */
export interface Form {
  readonly value: Readonly<Record<string, unknown>>
  readonly faults: readonly ErrorObject[]
}

/** The most fields or parts of a form: far more than forms have, and few enough to parse quickly. */
export const partsMax = 1_000

/**
 * Parses a form.
 * @throws {RequestError} `invalid_request` if the body is not a form
 */
export function readForm(bytes: Uint8Array, content: Content): Form {
  return fieldsOf(urlencodedEntries(bytes), content)
}

/** Reads the values of a form's fields, and notes why some could not be parsed. */
export function fieldsOf(entries: readonly Entry[], content: Content): Form {
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

/** True if a part is a file that nothing in the contract describes. Read as text, its bytes would be lost. */
export function isUnknownFile(
  { fields, additionalField }: Content,
  { name, fileName }: Pick<Entry, 'name' | 'fileName'>,
): boolean {
  const isDescribed = additionalField?.kind === 'json' || additionalField?.types !== undefined
  return fileName !== undefined && !isDescribed && fields?.has(name) !== true
}

// A browser sends this for a file input in which no file was chosen (WHATWG HTML, section 4.10.22.4).
function isUnchosen({ fileName, bytes }: Entry): boolean {
  return fileName === '' && bytes.length === 0
}

/** A field as it was sent. */
export interface Entry {
  readonly name: string
  /** The name of a file, empty if it has none; undefined if the field is no file. */
  readonly fileName?: string | undefined
  /** Returns undefined if the text is not UTF-8 or contains NUL. */
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

// RFC 7578, section 4.7, deprecates encodings of parts. These leave the bytes as they are.
const identities = ['7bit', '8bit', 'binary']

/** Returns the value of a field; undefined if it is refused. */
export function readEntry(entry: Entry, { kind, types, mediaTypes }: Field, refuse: Refuse): unknown {
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
  return text === undefined ? refuse(noText) : convertedText(text, types)
}

/**
 * Gives a file, of bytes or a stream, the media type of its part; undefined if the part has none. The
 * property is not enumerable, because files are compared by their bytes.
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

// An item of a list. A body may have as many items as bytes, so the bytes of an item are made only when they
// are needed.
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
  const letter = code | 0x20 // to lower case
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

export function entryOf(name: string | undefined, bytes: Buffer, mediaType: string | undefined): Entry {
  if (name === undefined || name.includes('\0')) throw malformed('it has a field without a name in UTF-8')
  return { name, text: () => decodeText(bytes), bytes, mediaType }
}

/** Returns the error of a body that is not a form. */
export function malformed(reason: string): RequestError {
  return ownError('invalid_request', `The body is not a valid form: ${reason}.`)
}
