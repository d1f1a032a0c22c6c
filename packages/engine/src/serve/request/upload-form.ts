// A form whose files reach their handler while they arrive. The fields before the first file are read into
// memory and parsed like any form; after them, only files may follow (upload-files.ts).

import { heldBytesMax as fieldsMax } from '../../document/defaults.js'
import { ownError } from '../../document/request-error.js'
import { onlyFile } from '../../document/uploads.js'
import {
  boundaryOf,
  closing,
  type Head,
  headersEnd,
  headersMax,
  isClosing,
  readHead,
  readMultipart,
} from '../../kinds/form/multipart.js'
import { type Form, isUnknownFile, partsMax, unknownField, withType } from '../../kinds/form/served.js'
import { GrowingBuffer } from './body.js'
import type { HeldBytes } from './body-memory.js'
import type { Upload } from './upload.js'
import {
  type ArrivingFile,
  ArrivingFiles,
  type Chunks,
  type FormParts,
  missingFiles,
  tooLarge,
  type UploadForm,
} from './upload-files.js'
import { invalidBody } from './violations.js'

// The last chunk with fields may also contain this much of the file.
const chunkMax = 131_072
const lineEnd = Buffer.from('\r\n')

/**
 * Reads a form up to its first file, or all of it if no file comes. If the form can have one file only, the
 * value has it as a stream; otherwise the value is an async iterable of the files.
 * @throws {RequestError} `invalid_request` if the body is not a form
 */
export async function readUploadForm(
  upload: Upload,
  contentType: string,
  content: UploadForm,
): Promise<{ readonly value: unknown; readonly faults: Form['faults'] }> {
  const parts = {
    upload,
    content,
    chunks: upload[Symbol.asyncIterator]() as Chunks,
    delimiter: Buffer.from(`\r\n--${boundaryOf(contentType)}`),
    readHead: (head: Buffer) => readHead(head, contentType, content),
  }
  const only = onlyFile(content.upload)
  const fields = new Fields(parts)
  while (fields.file === undefined) {
    const { done, value } = await parts.chunks.next()
    if (!done) fields.add(value)
    else if (fields.isEmpty) return { value: undefined, faults: [] }
    else if (only !== undefined) return readMultipart(fields.bytes, content, contentType)
    else return withoutFiles(readMultipart(fields.bytes, content, contentType), content)
  }
  const { name, type } = fields.file
  upload.file = name
  const files = new ArrivingFiles(parts, fields.file, fields.rest())
  const { value, faults } = readMultipart(fields.withShortFile(), content, contentType)
  if (only !== undefined) return { value: { ...value, [only]: withType(files.only(), type) }, faults }
  const { [name]: _, ...others } = value
  return { value: iterating(others, files.all()), faults }
}

function withoutFiles({ value, faults }: Form, { upload }: UploadForm): Form {
  return { value: iterating(value, none()), faults: [...faults, ...missingFiles(upload, new Map())] }
}

async function* none(): AsyncGenerator<ArrivingFile> {}

// Not enumerable, so that a copy of the fields has the fields alone.
function iterating(fields: Form['value'], files: AsyncGenerator<ArrivingFile>): Form['value'] {
  return Object.defineProperty({ ...fields }, Symbol.asyncIterator, { value: () => files })
}

/** The bytes before the first file. */
class Fields {
  /** The headers of the file, once they have arrived. */
  file: Head | undefined
  /** The offset at which its content begins. */
  #fileStart = 0
  readonly #buffer: GrowingBuffer
  /** The offset up to which all parts have been found. */
  #from = 0
  /** The offset of the newest part's headers, if they have not arrived completely. */
  #head: number | undefined
  #parts = 0

  constructor(readonly parts: FormParts) {
    const { upload } = parts
    const { memory } = upload.held
    const onHeld = (held: HeldBytes) => upload.alsoHolds(held)
    this.#buffer = new GrowingBuffer({ max: fieldsMax + chunkMax, memory, onHeld })
    this.#buffer.append(lineEnd) // the first boundary may be at the start
  }

  get isEmpty(): boolean {
    return this.#buffer.bytes.length === lineEnd.length
  }

  /** The whole form, as it was sent. */
  get bytes(): Buffer {
    return this.#buffer.bytes.subarray(lineEnd.length)
  }

  /**
   * Returns the form up to the headers of the file, with one byte as the file: without any byte, it could be a
   * field for which no file was chosen.
   */
  withShortFile(): Buffer {
    const before = this.#buffer.bytes.subarray(lineEnd.length, this.#fileStart)
    return Buffer.concat([before, Buffer.from('x'), this.parts.delimiter, closing])
  }

  /** Returns the bytes of the file that have arrived. */
  rest(): Buffer {
    return Buffer.from(this.#buffer.bytes.subarray(this.#fileStart))
  }

  add(chunk: Buffer): void {
    // A chunk of Node has 64 kB; most of it may belong to the file.
    for (let at = 0; at < chunk.length; at += headersMax) this.#append(chunk.subarray(at, at + headersMax))
  }

  #append(bytes: Buffer): void {
    const refusal = this.#buffer.append(bytes)
    if (refusal?.code === 'body_too_large') throw tooManyFields()
    if (refusal !== undefined) throw refusal
    while (this.file === undefined && this.#nextPart());
  }

  // Returns true if the headers of another part have arrived.
  #nextPart(): boolean {
    const { bytes } = this.#buffer
    this.#head ??= this.#findPart(bytes)
    if (this.#head === undefined) return false
    const end = bytes.indexOf(headersEnd, Math.max(this.#head, this.#from - headersEnd.length))
    if (end === -1) this.#from = bytes.length
    if (end === -1 && bytes.length - this.#head <= headersMax) return false
    if (end === -1) throw tooLarge()
    const contentStart = end + headersEnd.length
    const head = this.parts.readHead(bytes.subarray(this.#head, contentStart))
    const isUnchosen = this.#isUnchosen(head, contentStart)
    if (isUnchosen === undefined) return false
    if (++this.#parts > partsMax) throw tooLarge()
    if (!isUnchosen) this.#note(head)
    this.#fileStart = contentStart
    this.#from = contentStart
    this.#head = undefined
    return true
  }

  // True if no file was chosen for a part (form.ts); undefined while too few of its bytes have arrived to
  // know.
  #isUnchosen({ fileName }: Head, contentStart: number): boolean | undefined {
    if (fileName !== '') return false
    const { bytes } = this.#buffer
    const { delimiter } = this.parts
    const begin = bytes.subarray(contentStart, contentStart + delimiter.length)
    return begin.length < delimiter.length ? undefined : begin.equals(delimiter)
  }

  #note(head: Head): void {
    const { content } = this.parts
    if (isUnknownFile(content, head)) throw invalidBody([head.name], unknownField)
    if (content.upload.files.has(head.name)) this.file = head
  }

  #findPart(bytes: Buffer): number | undefined {
    const at = bytes.indexOf(this.parts.delimiter, this.#from)
    if (at === -1) {
      this.#from = Math.max(this.#from, bytes.length - this.parts.delimiter.length + 1)
      return undefined
    }
    const head = at + this.parts.delimiter.length
    this.#from = at // the closing delimiter begins no part
    if (bytes.length < head + closing.length || isClosing(bytes, head)) return undefined
    this.#from = head
    return head
  }
}

function tooManyFields(): Error {
  return ownError('body_too_large', `What comes before the file is longer than ${fieldsMax} bytes.`)
}
