// What servers know of a kind of content: the form of a row in index.ts. Code that has a content asks its
// row, instead of asking which kind it is. declared.ts, which no server loads, says how the contract declares
// each kind.

import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Content } from '../document/contract.js'
import type { AnySchema } from '../document/keywords.js'
import { readParameters } from '../lib/field-values.js'

export interface ServedKind {
  /** True if its bytes are text, in UTF-8. */
  readonly isText: boolean
  /**
   * True if the content is written from a whole value. Then an empty body is no value, and a value that is
   * written as one such kind may be written as another.
   */
  readonly isOfValue: boolean
  /** What a handler may return as a stream. */
  readonly streams: 'items' | 'bytes' | undefined
  /** What a receiving program, such as the client, makes of it. */
  readonly receivedAs: 'json' | 'text' | 'bytes' | 'stream'
  /** How it is read as the body of a request; undefined if it is only sent. */
  readonly received?: Received
  /** How it is written as the body of a response; undefined if it is only received. */
  readonly sent?: Sent
}

/** How a body is read. */
export interface Received {
  /**
   * Reads a body.
   * @param contentType as it was sent
   * @throws {RequestError} if the bytes are not of this kind
   */
  read(bytes: Uint8Array, content: Content, contentType: string): Parsed
  /** Returns the schema that validates the value, if that is not the declared one. */
  schemaOf?(schema: AnySchema, content: Content, document: object): AnySchema
  /**
   * As a whole query: read from the text as it is in the URL, or decoded. Undefined if it cannot be a query.
   */
  readonly query?: 'encoded' | 'decoded'
}

/** A value, and the errors of the parts that could not be read. */
export interface Parsed {
  readonly value: unknown
  readonly faults: readonly ErrorObject[]
}

export const noFaults: readonly ErrorObject[] = []

/** How a body is checked and written. */
export interface Sent {
  /** Returns the media type as it is sent. */
  typeOf(mediaType: string): string
  /**
   * Creates the function that finds the fault of a body.
   * @param validate undefined if the content has no schema
   */
  check(validate: ValidateFunction | undefined): (body: unknown) => ContentFault | undefined
  /** Returns the schema that validates the value, if that is not the declared one. */
  schemaOf?(schema: AnySchema): AnySchema
  /**
   * Creates the function that writes a checked body; undefined for a stream of items, which are written one
   * by one.
   */
  writer?(content: Content): Write
  /** Returns the schema of the value that is written as JSON; undefined if none is. */
  inJson?(content: Content): { readonly schema: AnySchema | undefined } | undefined
}

/** @throws {Unwritable} */
export type Write = (body: unknown, toJson: ToJson) => string | Uint8Array

/** Returns undefined for a value that JSON does not have. */
export type ToJson = (value: unknown) => string | undefined

/** Why a body is not as declared. */
export interface ContentFault {
  readonly problem: string
  /** The errors from its schema, if it has one. */
  readonly errors: readonly ErrorObject[]
}

/** The error of an invalid value, or of a value that its kind cannot express. */
export class Unwritable extends Error {
  override name = 'Unwritable'

  /** @param at the JSON Pointer to the fault in the value */
  constructor(
    problem: string,
    readonly at = '',
  ) {
    super(problem)
  }
}

export function because(problem: string): ContentFault {
  return { problem, errors: [] }
}

/** Returns a function that finds the fault of a body by its schema. */
export function bySchema(
  validate: ValidateFunction | undefined,
): (body: unknown) => ContentFault | undefined {
  if (validate === undefined) return () => undefined
  return (body) => {
    if (validate(body)) return undefined
    const errors = validate.errors ?? []
    const { instancePath = '', message = 'cannot be checked' } = errors[0] ?? {}
    return { problem: `body at "${instancePath}" ${message}`, errors }
  }
}

/** Returns the type of text as it is sent: in UTF-8, unless the contract names a charset. */
export function inUtf8(mediaType: string): string {
  return readParameters(mediaType).values.has('charset') ? mediaType : `${mediaType}; charset=utf-8`
}
