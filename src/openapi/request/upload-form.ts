// A form whose file reaches its handler while it arrives. What comes before the file is read into memory and
// parsed as any form is; then the file is the rest of the body, so it must be the last part.

import { Readable } from 'node:stream'
import type { Content } from '../contract/contract.js'
import { ownError } from '../errors.js'
import { GrowingBuffer } from './body.js'
import type { HeldBytes } from './body-memory.js'
import {
  boundaryOf,
  continuedBoundary,
  endsLine,
  type Form,
  headersEnd,
  isClosing,
  malformed,
  partNames,
  readForm,
} from './forms.js'
import type { Upload } from './upload.js'
import { invalidBody } from './violations.js'

/** For all that comes before the file. */
const fieldsMax = 1_048_576
// Of one part, as in a form that is read whole.
const headersMax = 8_192
const partsMax = 1_000
// With the fields may come as much of the file.
const chunkMax = 131_072
const lineEnd = Buffer.from('\r\n')
const closing = '--'

type Chunks = AsyncIterator<Buffer>

/**
 * Reads a form up to its file, which is in the value as a stream; or all of it, if the file does not come.
 * @throws {RequestError} `invalid_request` when the body is not a form
 */
export async function readUploadForm(
  upload: Upload,
  contentType: string,
  content: Content,
): Promise<{ readonly value: unknown; readonly faults: Form['faults'] }> {
  const field = content.upload?.field as string // of a form
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`)
  const chunks: Chunks = upload[Symbol.asyncIterator]()
  const fields = new Fields(upload, delimiter, (head) => partNames(head, contentType).includes(field))
  while (fields.fileStart === undefined) {
    const { done, value } = await chunks.next()
    if (done)
      return fields.isEmpty ? { value: undefined, faults: [] } : readForm(fields.bytes, contentType, content)
    fields.add(value)
  }
  const { value, faults } = readForm(fields.withEmptyFile(), contentType, content)
  const file = new FilePart(upload, chunks, delimiter, content).stream(fields.rest())
  return { value: { ...value, [field]: file }, faults }
}

/** What comes before the file. */
class Fields {
  /** Where the content of the file begins, once its headers have arrived. */
  fileStart: number | undefined
  readonly #buffer: GrowingBuffer
  /** Before it, no part begins that has not been seen. */
  #from = 0
  /** Where the headers of the newest part begin, if they have not arrived completely. */
  #head: number | undefined
  #parts = 0

  constructor(
    readonly upload: Upload,
    readonly delimiter: Buffer,
    readonly isFile: (head: Buffer) => boolean,
  ) {
    const { memory } = upload.held
    const onHeld = (held: HeldBytes) => upload.alsoHolds(held)
    this.#buffer = new GrowingBuffer({ max: fieldsMax + chunkMax, memory, onHeld })
    this.#buffer.append(lineEnd) // the first boundary may be at the start
  }

  get isEmpty(): boolean {
    return this.#buffer.bytes.length === lineEnd.length
  }

  /** All of it, as it was sent. */
  get bytes(): Buffer {
    return this.#buffer.bytes.subarray(lineEnd.length)
  }

  /** The form up to the headers of the file. */
  withEmptyFile(): Buffer {
    const before = this.#buffer.bytes.subarray(lineEnd.length, this.fileStart)
    return Buffer.concat([before, this.delimiter, Buffer.from(closing)])
  }

  /** What has arrived of the file. */
  rest(): Buffer {
    return Buffer.from(this.#buffer.bytes.subarray(this.fileStart))
  }

  add(chunk: Buffer): void {
    // A chunk of Node's has 64 kB, most of which may be the file's.
    for (let at = 0; at < chunk.length; at += headersMax) this.#append(chunk.subarray(at, at + headersMax))
  }

  #append(bytes: Buffer): void {
    const refusal = this.#buffer.append(bytes)
    if (refusal?.code === 'body_too_large') throw tooManyFields()
    if (refusal !== undefined) throw refusal
    while (this.fileStart === undefined && this.#nextPart());
  }

  // Returns whether the headers of another part have arrived.
  #nextPart(): boolean {
    const { bytes } = this.#buffer
    this.#head ??= this.#findPart(bytes)
    if (this.#head === undefined) return false
    const end = bytes.indexOf(headersEnd, Math.max(this.#head, this.#from - headersEnd.length))
    this.#from = bytes.length
    if (end === -1 && bytes.length - this.#head <= headersMax) return false
    if (end === -1 || ++this.#parts > partsMax) throw malformed('it has too many parts, or too long headers')
    const contentStart = end + headersEnd.length
    if (this.isFile(bytes.subarray(this.#head, contentStart))) this.fileStart = contentStart
    this.#from = contentStart
    this.#head = undefined
    return true
  }

  #findPart(bytes: Buffer): number | undefined {
    const at = bytes.indexOf(this.delimiter, this.#from)
    if (at === -1) {
      this.#from = Math.max(this.#from, bytes.length - this.delimiter.length + 1)
      return undefined
    }
    const head = at + this.delimiter.length
    this.#from = at // what ends the form is not a part
    if (bytes.length < head + closing.length || isClosing(bytes, head)) return undefined
    this.#from = head
    return head
  }
}

function tooManyFields(): Error {
  return ownError('body_too_large', `What comes before the file is longer than ${fieldsMax} bytes.`)
}

/** The last part of a form. */
class FilePart {
  #length = 0

  constructor(
    readonly upload: Upload,
    readonly chunks: Chunks,
    readonly delimiter: Buffer,
    readonly content: Content,
  ) {}

  /** @param first what has arrived of it */
  stream(first: Buffer): Readable {
    const stream = Readable.from(this.#read(first), { objectMode: false })
    return stream.on('error', () => {}) // a handler may not read it at all
  }

  async *#read(first: Buffer): AsyncGenerator<Buffer> {
    const { delimiter } = this
    let bytes = first
    for (;;) {
      const end = bytes.indexOf(delimiter)
      // The rest may be the beginning of the delimiter.
      const known = end === -1 ? bytes.length - delimiter.length + 1 : end
      if (known > 0) yield this.#counted(bytes.subarray(0, known))
      if (end !== -1) return await this.#end(bytes.subarray(end + delimiter.length))
      bytes = Buffer.concat([bytes.subarray(Math.max(known, 0)), await this.#next('a part is cut')])
    }
  }

  #counted(bytes: Buffer): Buffer {
    const { maxLength = Number.POSITIVE_INFINITY } = this.content.upload ?? {}
    this.#length += bytes.length
    if (this.#length > maxLength) this.#refuse(`must have at most ${maxLength} bytes`)
    return bytes
  }

  async #end(following: Buffer): Promise<void> {
    const { minLength = 0 } = this.content.upload ?? {}
    let after = following
    while (after.length < closing.length)
      after = Buffer.concat([after, await this.#next('its end is missing')])
    if (!isClosing(after, 0) && !endsLine(after, 0)) this.#fail(malformed(continuedBoundary))
    if (!isClosing(after, 0)) this.#refuse('must be the last part of the form: it is read as it arrives')
    if (this.#length < minLength) this.#refuse(`must have at least ${minLength} bytes`)
    while (!(await this.chunks.next()).done); // nothing counts behind the end (RFC 2046, section 5.1.1)
  }

  async #next(fault: string): Promise<Buffer> {
    const { done, value } = await this.chunks.next()
    if (done) this.#fail(malformed(fault))
    return value
  }

  #refuse(problem: string): never {
    this.#fail(invalidBody([this.content.upload?.field ?? ''], problem))
  }

  #fail(error: Error): never {
    this.upload.fail(error)
    throw error
  }
}
