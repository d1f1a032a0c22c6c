// Responses on their way out: validated against the contract, and serialized.

import type { FastifyReply, FastifyRequest, onSendHookHandler, preSerializationHookHandler } from 'fastify'
import { stringify } from 'lossless-json'
import { callbackify } from '../../lib/maybe-promise.js'
import type { SerializedResponse } from '../../middleware/stored-responses.js'
import type { Content, Operation } from '../contract/contract.js'
import { essence, responseContent } from '../contract/media-types.js'
import { byStatus, type ResponseCheck, ResponseError } from './response-validation.js'

/** The response that a handler returns, its types erased. */
export interface HandlerResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/**
 * Serializes the responses of one operation.
 * @throws {ResponseError} when the contract does not declare the body, or a header value is not valid in HTTP
 */
export type Serialize = (
  request: FastifyRequest,
  reply: FastifyReply,
  response: HandlerResponse,
) => SerializedResponse

// Node throws at these characters when the response has already started (RFC 9110, section 5.5).
const invalidInHeader = /[^\t\x20-\x7e\x80-\xff]/

/** Creates the serializer of an operation, which writes each body by its media type and schema. */
export function createSerializer({ id, responses }: Operation): Serialize {
  const contentsOf = byStatus(new Map([...responses].map(([status, { contents }]) => [status, contents])))
  return (request, reply, { status, headers: own = {}, body }) => {
    const headers: Record<string, string | string[]> = {}
    for (const [name, value] of Object.entries(own)) {
      if (value === undefined) continue
      if (invalidInHeader.test(String(value)))
        throw new ResponseError(`${id} ${status}`, `header ${name} has characters that HTTP does not allow`)
      headers[name] = Array.isArray(value) ? value.map(String) : String(value)
    }
    const { 'Content-Type': named, ...others } = headers
    const given = named?.toString()
    validate(request, (check) => check.body(status, body, given))
    if (body === undefined) return { status, headers, body }
    const content = responseContent(contentsOf(status) ?? [], given)
    if (content === undefined) return { status, headers, body: Buffer.from(body as string) } // a response that is not validated
    const type = contentType(content, given)
    const text =
      content.kind === 'json' ? toJson(request, reply, status, essence(type), body) : (body as string) // or bytes
    return { status, headers: { ...others, 'content-type': type }, body: Buffer.from(text) }
  }
}

// JSON and text are sent in UTF-8.
function contentType({ mediaType, kind }: Content, given = mediaType): string {
  return kind === 'bytes' || /;\s*charset=/i.test(given) ? given : `${given}; charset=utf-8`
}

// By the serializer that Fastify compiled from the schema, for objects and arrays whose every number it can write; else by
// lossless-json.
function toJson(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  mediaType: string,
  body: unknown,
): string {
  const isExact = request.matched?.config.isExact || typeof body !== 'object'
  const write = isExact ? undefined : reply.getSerializationFunction(String(status), mediaType)
  return write?.(body as Record<string, unknown>) ?? stringify(body) ?? ''
}

/** Throws ResponseError when the contract does not declare the headers of a response, with those that are already set. */
export function checkHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers }: SerializedResponse,
): void {
  const all = reply.getHeaders()
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value
  validate(request, (check) => check.head(status, all))
}

/** A hook that validates the bodies of error responses, which Fastify serializes. */
export const validateErrorBody: preSerializationHookHandler = (request, reply, payload, done) =>
  callbackify(
    () => validate(request, (check) => check.body(reply.statusCode, payload)),
    (error) => (error ? done(error) : done(null, payload)),
  )

/** A hook that validates the headers of every response that checkHeaders has not seen. */
export const validateHeaders: onSendHookHandler = (request, reply, payload, done) =>
  callbackify(
    () => validate(request, (check) => check.head(reply.statusCode, reply.getHeaders())),
    (error) => (error ? done(error) : done(null, payload)),
  )

// The 500 that reports an invalid response is not validated itself.
function validate(request: FastifyRequest, run: (check: ResponseCheck) => void): void {
  const { matched, isUnchecked } = request
  if (isUnchecked || matched?.config.responseCheck === undefined) return
  try {
    run(matched.config.responseCheck)
  } catch (error) {
    request.isUnchecked = true
    throw error
  }
}
