// The files of a form, one after the other, while they arrive: a file is what follows its headers, up to the
// next boundary. When the handler asks for the next file, the unread rest of this one is skipped.

import { Readable } from 'node:stream'
import type { ErrorObject } from 'ajv'
import type { Content, Upload as Declared, FileRules } from '../../document/contract.js'
import type { RequestError } from '../../document/request-error.js'
import {
  closing,
  continuedBoundary,
  endsLine,
  type Head,
  headersEnd,
  headersMax,
  isClosing,
} from '../../kinds/form/multipart.js'
import { isUnknownFile, malformed, partsMax, unknownField } from '../../kinds/form/served.js'
import { errorAt } from '../../runtime/messages.js'
import type { Upload } from './upload.js'
import { invalidBody, invalidPlaces } from './violations.js'

const nothing = Buffer.alloc(0)

export type Chunks = AsyncIterator<Buffer>
export type UploadForm = Content & { readonly upload: Declared }

/** What a form's files are read from. */
export interface FormParts {
  readonly upload: Upload
  readonly content: UploadForm
  readonly chunks: Chunks
  readonly delimiter: Buffer
  /** @param head from the end of the boundary to the empty line */
  readonly readHead: (head: Buffer) => Head
}

/** A file of a form that can have several. */
export interface ArrivingFile {
  /** The name of its field. */
  readonly name: string
  /** The media type of its part, if that has one. */
  readonly type: string | undefined
  readonly file: Readable
}

/** The files of a form, starting with the first, whose headers have been read. */
export class ArrivingFiles {
  /** The bytes that have arrived and are not read. */
  #bytes: Buffer
  #name: string
  #type: string | undefined
  #isInFile = true
  #length = 0
  readonly #counts = new Map<string, number>()
  #parts = 1

  /**
   * @param head the headers of the first file
   * @param bytes the part of it that has arrived
   */
  constructor(
    readonly form: FormParts,
    { name, type }: Head,
    bytes: Buffer,
  ) {
    this.#name = name
    this.#type = type
    this.#bytes = bytes
    this.#counts.set(name, 1)
  }

  /** Returns the only file of a form, which must be the form's last part. */
  only(): Readable {
    return readableOf(this.#last())
  }

  /**
   * Iterates over all files. If the handler asks for the next file too early, the stream of the unread one
   * fails.
   */
  async *all(): AsyncGenerator<ArrivingFile> {
    do {
      const content = this.#content()
      const file = readableOf(content)
      yield { name: this.#name, type: this.#type, file }
      if (!file.readableEnded) file.destroy(new Error('the next file was asked for: read this one before'))
      await content.return(undefined)
      for await (const _ of this.#content());
    } while (await this.#begin())
    const missing = missingFiles(this.form.content.upload, this.#counts)
    if (missing.length > 0) this.#fail(invalidPlaces(missing))
  }

  async *#last(): AsyncGenerator<Buffer> {
    yield* this.#content()
    await this.#begin()
  }

  async *#content(): AsyncGenerator<Buffer, void, undefined> {
    const { delimiter } = this.form
    while (this.#isInFile) {
      const end = this.#bytes.indexOf(delimiter)
      // The remaining bytes may be the beginning of the delimiter.
      const known = end === -1 ? this.#bytes.length - delimiter.length + 1 : end
      if (known > 0) yield this.#counted(this.#take(known))
      else if (end === 0) this.#end()
      else await this.#receive('a part is cut')
    }
  }

  #counted(bytes: Buffer): Buffer {
    const { maxLength } = this.#rules
    this.#length += bytes.length
    if (this.#length > maxLength) this.#refuse(`must have at most ${maxLength} bytes`)
    return bytes
  }

  #end(): void {
    const { minLength } = this.#rules
    if (this.#length < minLength) this.#refuse(`must have at least ${minLength} bytes`)
    this.#take(this.form.delimiter.length)
    this.#isInFile = false
  }

  // Begins the next file. Returns false if the form has ended.
  async #begin(): Promise<boolean> {
    for (;;) {
      const head = await this.#nextPart()
      if (head === undefined) return false
      if (++this.#parts > partsMax) this.#fail(tooLarge())
      if (await this.#isUnchosen(head)) continue
      this.#count(head)
      this.#isInFile = true
      this.#length = 0
      if (head.problem !== undefined) this.#refuse(head.problem)
      return true
    }
  }

  // Reads up to the end of the next part's headers. Returns undefined if the form has ended.
  async #nextPart(): Promise<Head | undefined> {
    while (this.#bytes.length < closing.length) await this.#receive('its end is missing')
    if (isClosing(this.#bytes, 0)) {
      this.#bytes = nothing
      while (!(await this.form.chunks.next()).done); // nothing counts behind it (RFC 2046, section 5.1.1)
      return undefined
    }
    if (!endsLine(this.#bytes, 0)) this.#fail(malformed(continuedBoundary))
    return this.#readHead(await this.#nextHead())
  }

  // True if the client chose no file for this part, so that the part has ended. See `isUnchosen` in kinds/form/served.ts.
  async #isUnchosen({ fileName }: Head): Promise<boolean> {
    if (fileName !== '') return false
    const { delimiter } = this.form
    while (this.#bytes.length < delimiter.length) await this.#receive('a part is cut')
    if (!this.#bytes.subarray(0, delimiter.length).equals(delimiter)) return false
    this.#take(delimiter.length)
    return true
  }

  async #nextHead(): Promise<Buffer> {
    for (;;) {
      const end = this.#bytes.indexOf(headersEnd)
      if (end !== -1) return this.#take(end + headersEnd.length)
      if (this.#bytes.length > headersMax) this.#fail(tooLarge())
      await this.#receive('its end is missing')
    }
  }

  #readHead(head: Buffer): Head {
    try {
      return this.form.readHead(head)
    } catch (error) {
      return this.#fail(error as Error)
    }
  }

  #count(head: Head): void {
    const { name } = head
    this.#name = name
    this.#type = head.type
    const { content } = this.form
    const rules = content.upload.files.get(name)
    if (rules === undefined) this.#fail(invalidBody([name], misplaced(content, head)))
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    if (!rules.isList && count > 1) this.#fail(invalidBody([name], 'must be given once'))
    if (count > rules.maxItems) this.#fail(invalidPlaces([wrongNumber(name, 'maxItems', rules.maxItems)]))
  }

  get #rules(): FileRules {
    return this.form.content.upload.files.get(this.#name) as FileRules // others are refused
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length)
    this.#bytes = this.#bytes.subarray(length)
    return taken
  }

  async #receive(fault: string): Promise<void> {
    const { done, value } = await this.form.chunks.next()
    if (done) this.#fail(malformed(fault))
    this.#bytes = this.#bytes.length === 0 ? value : Buffer.concat([this.#bytes, value])
  }

  #refuse(problem: string): never {
    const index = (this.#counts.get(this.#name) ?? 1) - 1
    this.#fail(invalidBody(this.#rules.isList ? [this.#name, String(index)] : [this.#name], problem))
  }

  #fail(error: Error): never {
    this.form.upload.fail(error)
    throw error
  }
}

/** Returns the errors of a form that has ended with too few files. */
export function missingFiles({ files }: Declared, counts: ReadonlyMap<string, number>): ErrorObject[] {
  return [...files].flatMap(([name, { isRequired, minItems }]) => {
    const count = counts.get(name) ?? 0
    if (count === 0) return isRequired ? [errorAt([name], 'is required')] : []
    return count < minItems ? [wrongNumber(name, 'minItems', minItems)] : []
  })
}

// Returns the error in Ajv's form.
function wrongNumber(name: string, keyword: 'minItems' | 'maxItems', limit: number): ErrorObject {
  return { ...errorAt([name], ''), keyword, params: { limit } }
}

// Says what is wrong with a part after a file that is no declared file: either the part is a field, and had
// to come before the file, or the form has no such field.
function misplaced(content: UploadForm, head: Head): string {
  const isField = content.fields?.has(head.name) === true || !content.upload.isClosed
  return isField && !isUnknownFile(content, head)
    ? 'must come before any file: a form is read as it arrives'
    : unknownField
}

/** The error of a form that exceeds `partsMax` or `headersMax`. */
export function tooLarge(): RequestError {
  return malformed('it has too many parts, or too long headers')
}

function readableOf(content: AsyncGenerator<Buffer>): Readable {
  return Readable.from(content, { objectMode: false }).on('error', () => {}) // it may be left unread
}
