// Serializes the responses of handlers, each body by its media type and schema.

import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { stringify } from 'lossless-json'
import type { Content, Operation, Response } from '../../document/contract.js'
import type { Functions, WriteJson } from '../../document/functions.js'
import { responseContent } from '../../document/media-types.js'
import { contentsOf, dependsOnAccept, successesAmong } from '../../document/responses.js'
import { kindOf, sentType, silentContents } from '../../kinds/index.js'
import { type ContentFault, Unwritable, type Write } from '../../kinds/kind.js'
import type { Items } from '../../kinds/stream/served.js'
import { headerText } from '../../lib/field-values.js'
import { createChoice } from '../request/accept.js'
import { endWithResponse, mayStream } from './response-stream.js'
import { byStatus, type ResponseCheck, ResponseError } from './response-validation.js'
import { createStreamSerializer } from './stream-serialization.js'

/** The response that a handler returns, without its types. */
export interface HandlerResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/**
 * A response as it is sent: its headers by their names in lower case (a list header as an array), and its
 * body as text, bytes, or a stream of bytes.
 */
export interface SerializedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string | Buffer | Readable | undefined
  /** The headers with absolute links, as they were validated. A stored response has none. */
  readonly sent?: SerializedResponse['headers']
}

/**
 * Creates the serializer of an operation.
 * @param writers the result of `createJsonWriters` for the operation
 * @returns a function that throws ResponseError if the contract does not declare the body, or if a header
 * value is not valid in HTTP
 */
export function createSerializer(
  operation: Operation,
  check: ResponseCheck,
  writers: JsonWriters,
): (reply: FastifyReply, response: HandlerResponse) => SerializedResponse {
  const { id, responses } = operation
  const streams = mayStream(operation)
  const bodyOf = createBodies(operation, check, writers)
  const statuses = [...responses.values()].map((each) => {
    return [each.status, statusParts(each, operation, bodyOf)] as const
  })
  const partsOf = byStatus(new Map(statuses))
  return (reply, { status, headers: own = {}, body }) => {
    if (streams && body instanceof Readable) endWithResponse(body, reply)
    const headers = toText(own, id, status)
    const parts = partsOf(status)
    const given = headers['content-type']?.toString() ?? parts?.preferredBy?.(reply)
    const declared = given === undefined ? parts?.silent : parts?.of(given)
    const fault = declared === undefined ? check.fault(status, body, given) : declared.faultOf(body)
    if (fault !== undefined)
      throw new ResponseError(`${id} ${status}`, fault.problem, undefined, fault.errors)
    if (parts?.isVaried) headers.vary = headers.vary === undefined ? 'Accept' : `${headers.vary}, Accept`
    if (declared === undefined || body === undefined) return { status, headers, body: undefined }
    const written = declared.write(reply, status, body)
    const sent = written instanceof Readable ? written : toSend(written, headers)
    headers['content-type'] = declared.type
    return { status, headers, body: sent }
  }
}

/** Checks and writes the bodies of a content. */
interface SentBody {
  readonly type: string
  readonly faultOf: (body: unknown) => ContentFault | undefined
  /** Writes a body that has no fault. */
  readonly write: (reply: FastifyReply, status: number, body: unknown) => string | Uint8Array | Readable
}

type BodyOf = (content: Content) => Omit<SentBody, 'type'>

function createBodies(operation: Operation, check: ResponseCheck, writers: JsonWriters): BodyOf {
  const toStream = createStreamSerializer(operation, check, writers)
  return (content) => {
    const whole = kindOf(content).sent?.writer?.(content)
    return {
      faultOf: check.bodyFault(content),
      write:
        whole === undefined
          ? (reply, status, body) => toStream(reply, status, content, body as Items) // checked by `faultOf`
          : writerOfWhole(operation, whole, writers.get(content) ?? stringify),
    }
  }
}

function writerOfWhole({ id, isIdempotent }: Operation, write: Write, toJson: WriteJson): SentBody['write'] {
  return (_reply, status, body) => {
    if (body instanceof Readable) {
      if (isIdempotent) throw new ResponseError(`${id} ${status}`, 'a stream cannot be stored')
      return body
    }
    try {
      return write(body, toJson)
    } catch (error) {
      throw error instanceof Unwritable
        ? new ResponseError(`${id} ${status}`, `body ${error.message}`)
        : error
    }
  }
}

/** The functions that write JSON, by content: for a body, an item, or the data of an event. */
export type JsonWriters = ReadonlyMap<Content, WriteJson>

/** Creates the JSON writers of an operation. */
export function createJsonWriters(
  { responses }: Operation,
  functions: Pick<Functions, 'writer'>,
): JsonWriters {
  const writers = contentsOf(responses.values()).flatMap((content) => {
    return content.writer === undefined ? [] : [[content, functions.writer(content.writer)] as const]
  })
  return new Map(writers)
}

/** Finds how bodies of a status are sent. */
interface StatusParts {
  /** Used if the handler names no media type. */
  readonly silent: SentBody | undefined
  of(mediaType: string): SentBody | undefined
  /** Chooses the media type by the request, if the handler names none and the contract declares several. */
  readonly preferredBy: ((reply: FastifyReply) => string | undefined) | undefined
  readonly isVaried: boolean
}

function statusParts(response: Response, operation: Operation, bodyOf: BodyOf): StatusParts {
  const { contents } = response
  const bodies = new Map(contents.map((each) => [each, bodyOf(each)]))
  const sentAs = (given: string | undefined): SentBody | undefined => {
    const content = responseContent(contents, given)
    const body = content && bodies.get(content)
    return content && body && { ...body, type: sentType(content, given) }
  }
  return {
    silent: sentAs(undefined),
    of: sentAs,
    preferredBy: preferenceAmong(silentContents(response, operation.responses)),
    isVaried: dependsOnAccept(operation) && successesAmong(operation.responses).includes(response),
  }
}

function preferenceAmong([first, ...others]: readonly Content[]): StatusParts['preferredBy'] {
  if (first === undefined || others.length === 0) return undefined
  const choose = createChoice([first, ...others])
  return ({ request }) => choose(request.headers.accept)
}

// These characters of a header are one byte in ISO 8859-1, and two in UTF-8.
const beyondAscii = /[\x80-\xff]/

/**
 * Returns a body as text if it can, because Node joins text with the header section into one write. It writes
 * both in UTF-8, so beside a header beyond ASCII the body must be bytes.
 */
export function toSend(
  body: string | Uint8Array,
  headers: Readonly<Record<string, string | string[]>>,
): string | Buffer {
  if (typeof body !== 'string') return Buffer.from(body)
  for (const name in headers) if (beyondAscii.test(String(headers[name]))) return Buffer.from(body)
  return body
}

function toText(
  headers: Readonly<Record<string, unknown>>,
  id: string,
  status: number,
): Record<string, string | string[]> {
  const texts: Record<string, string | string[]> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || !Object.hasOwn(headers, name)) continue
    const text = headerText(value)
    if (text === undefined)
      throw new ResponseError(`${id} ${status}`, `header ${name} has characters that HTTP does not allow`)
    texts[name.toLowerCase()] = Array.isArray(value) ? value.map(String) : text
  }
  return texts
}
