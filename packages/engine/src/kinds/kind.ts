// What is known of a kind of content: a row of the table in index.ts. Whoever has a content asks its row, and
// not which kind it is. How the contract declares each is in declared.ts beside it, which no server loads.

import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Content } from '../document/contract.js'
import type { AnySchema } from '../document/keywords.js'
import { readParameters } from '../lib/field-values.js'

export interface ServedKind {
  /** Whether its bytes are text, which is in UTF-8. */
  readonly isText: boolean
  /**
   * Whether it is written from a value as a whole. No bytes are no value then, and what is written as one
   * such kind may be written as another.
   */
  readonly isOfValue: boolean
  /** What of it a handler may return as a stream. */
  readonly streams: 'items' | 'bytes' | undefined
  /** What a program that receives it makes of it, such as the client. */
  readonly receivedAs: 'json' | 'text' | 'bytes' | 'stream'
  /** As the body of a request; undefined of what is only sent. */
  readonly received?: Received
  /** As the body of a response; undefined of what is only received. */
  readonly sent?: Sent
}

/** How a body is read. */
export interface Received {
  /**
   * Reads one.
   * @param contentType as it was sent
   * @throws {RequestError} if the bytes are not of this kind
   */
  read(bytes: Uint8Array, content: Content, contentType: string): Parsed
  /** What it is validated by, where that is not its schema. */
  schemaOf?(schema: AnySchema, content: Content, document: object): AnySchema
  /** As a whole query: read from the text as it is in the URL, or decoded. Undefined: it can be none. */
  readonly query?: 'encoded' | 'decoded'
}

/** A value, and the errors of what of it could not be read. */
export interface Parsed {
  readonly value: unknown
  readonly faults: readonly ErrorObject[]
}

export const noFaults: readonly ErrorObject[] = []

/** How a body is checked and written. */
export interface Sent {
  /** The media type as it is sent. */
  typeOf(mediaType: string): string
  /** Creates what finds the fault of a body. @param validate undefined if it has no schema */
  check(validate: ValidateFunction | undefined): (body: unknown) => ContentFault | undefined
  /** What it is validated by, where that is not its schema. */
  schemaOf?(schema: AnySchema): AnySchema
  /** Creates what writes a body that has been checked; undefined of items, each of which is written. */
  writer?(content: Content): Write
  /** What of it is written as JSON: by which schema. */
  inJson?(content: Content): { readonly schema: AnySchema | undefined } | undefined
}

/** @throws {Unwritable} */
export type Write = (body: unknown, toJson: ToJson) => string | Uint8Array

/** Undefined of a value that JSON does not have. */
export type ToJson = (value: unknown) => string | undefined

/** Why a body is not the declared one. */
export interface ContentFault {
  readonly problem: string
  /** Those of its schema, if it has one. */
  readonly errors: readonly ErrorObject[]
}

/** A value that is not valid, or that its kind cannot express. */
export class Unwritable extends Error {
  override name = 'Unwritable'

  /** @param at the JSON Pointer of what is wrong in it */
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

/** What finds the fault of a body by its schema. */
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

/** The type of text as it is sent: in UTF-8, unless the contract says otherwise. */
export function inUtf8(mediaType: string): string {
  return readParameters(mediaType).values.has('charset') ? mediaType : `${mediaType}; charset=utf-8`
}
