// Serializes the responses of handlers, each body by its media type and schema.

import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { stringify } from 'lossless-json'
import type { Content, Operation } from '../contract/contract.js'
import { essence, responseContent } from '../contract/media-types.js'
import type { Items } from './item-stream.js'
import { endWithResponse, mayStream } from './response-stream.js'
import { byStatus, type ResponseCheck, ResponseError } from './response-validation.js'
import { createStreamSerializer } from './stream-serialization.js'

/** The response that a handler returns, its types erased. */
export interface HandlerResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/**
 * A response as sent: the headers that the operation sets, by their names in lower case (a list header as an
 * array), and its text or bytes, or a stream of bytes.
 */
export interface SerializedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string | Buffer | Readable | undefined
  /** The headers with absolute links, as they were validated. A stored response has none. */
  readonly sent?: SerializedResponse['headers']
}

// Node throws at these characters when the response has already started (RFC 9110, section 5.5).
const invalidInHeader = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Creates the serializer of an operation.
 * @param isExact whether bodies are written by lossless-json, because Fastify's serializer cannot write all
 * that the schemas allow
 * @returns a function that throws ResponseError when the contract does not declare the body, or a header
 * value is not valid in HTTP
 */
export function createSerializer(
  operation: Operation,
  check: ResponseCheck,
  isExact: boolean,
): (reply: FastifyReply, response: HandlerResponse) => SerializedResponse {
  const { id, responses, isIdempotent } = operation
  const streams = mayStream(operation)
  const toStream = createStreamSerializer(operation, check, (reply, status, type, value) =>
    toJson(reply, status, type, value, isExact),
  )
  const contentsOf = byStatus(new Map([...responses].map(([status, { contents }]) => [status, contents])))
  return (reply, { status, headers: own = {}, body }) => {
    if (streams && body instanceof Readable) endWithResponse(body, reply)
    const headers = toText(own, id, status)
    const given = headers['content-type']?.toString()
    check.body(status, body, given)
    if (body === undefined) return { status, headers, body }
    const content = responseContent(contentsOf(status) ?? [], given)
    if (content === undefined) throw new ResponseError(`${id} ${status}`, 'no body is declared')
    const type = contentType(content, given)
    if (content.kind === 'stream') {
      headers['content-type'] = type
      // The cast is safe: the check has found them iterable.
      return { status, headers, body: toStream(reply, status, content, body as Items) }
    }
    if (body instanceof Readable) {
      if (isIdempotent) throw new ResponseError(`${id} ${status}`, 'a stream cannot be stored')
      headers['content-type'] = type
      return { status, headers, body }
    }
    const isJson = content.kind === 'json'
    const textOrBytes = isJson
      ? (toJson(reply, status, essence(type), body, isExact) ?? '')
      : (body as string | Uint8Array)
    const sent = toSend(textOrBytes, headers)
    headers['content-type'] = type
    return { status, headers, body: sent }
  }
}

// Characters of a header that are one byte in ISO 8859-1, and two in UTF-8.
const beyondAscii = /[\x80-\xff]/

/**
 * A body as text if it can be: Node joins text and the header section, and writes once. It writes both in
 * UTF-8, so next to a header beyond ASCII the body must be bytes.
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
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue
    const text = String(value)
    if (invalidInHeader.test(text))
      throw new ResponseError(`${id} ${status}`, `header ${name} has characters that HTTP does not allow`)
    texts[name.toLowerCase()] = Array.isArray(value) ? value.map(String) : text
  }
  return texts
}

// JSON and text are sent in UTF-8; the types of streams have no other charset.
function contentType({ mediaType, kind }: Content, given = mediaType): string {
  return kind === 'bytes' || kind === 'stream' || /;\s*charset=/i.test(given)
    ? given
    : `${given}; charset=utf-8`
}

// By the serializer that Fastify compiled from the schema, for objects and arrays whose every number it can
// write; else by lossless-json.
function toJson(
  reply: FastifyReply,
  status: number,
  type: string,
  body: unknown,
  isExact: boolean,
): string | undefined {
  const isGeneral = isExact || typeof body !== 'object'
  const write = isGeneral ? undefined : reply.getSerializationFunction(String(status), type)
  return (write && written(write, body)) ?? stringify(body)
}

// Undefined if a field that the schema does not declare contains a bigint.
function written(write: (body: Record<string, unknown>) => string, body: unknown): string | undefined {
  try {
    return write(body as Record<string, unknown>)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
