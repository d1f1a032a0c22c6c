// How the contract declares a kind of content: the form of a row in declared-kinds.ts. The part that servers
// also need is a row of index.ts.

import type { Content } from '../document/contract.js'
import { isRange } from '../document/media-types.js'
import { type Node, nodeOf, type Reader } from '../document/reader.js'

export interface DeclaredKind {
  /**
   * Reads a Media Type Object: returns a content, or the reasons why the server cannot serve it. Returns
   * undefined if the object is not of this kind.
   */
  read(reader: Reader, declared: Declared, use: Use): Content | readonly string[] | undefined
  /**
   * Returns the TypeScript type of a value of the content.
   * @param value the type of the schema's values
   */
  type(content: Content, value: string, bytes: BytesTypes): string
  /** Marks the content of a large request body as streaming, if its kind can be read as it arrives. */
  upload?(reader: Reader, place: string, content: Content): Content
}

/** A Media Type Object, and where it is. */
export interface Declared {
  /** `POST /pets: the request body`. */
  readonly place: string
  readonly mediaType: string
  readonly media: Node
}

/** What a body is for: a request, a response, or a response that is an error. */
export type Use = 'request' | 'response' | 'error'

/** The types of bytes: of a whole body, and of a file in a form. */
export interface BytesTypes {
  readonly body: string
  readonly file: string
}

/** Returns the dereferenced schema; undefined if there is none. */
export function schemaOf(reader: Reader, { media }: Declared): Node | undefined {
  return media.schema === undefined ? undefined : nodeOf(reader.dereferenced(media.schema))
}

/** Says why a Media Type Object whose schema cannot be validated is not supported. */
export function unsupported({ place, mediaType }: Declared): string {
  const fix = 'remove the schema or use {type: string, format: binary} for raw bytes'
  return isRange(mediaType)
    ? `${place} ${mediaType} is not supported with its schema: ` +
        `name a single media type, or ${fix}, without a length`
    : `${place} ${mediaType} cannot be validated against its schema: ${fix}`
}
