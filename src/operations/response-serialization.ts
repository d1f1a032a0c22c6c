// The answers of handlers on their way out: held to the contract, and written as bytes.

import type { FastifyReply, FastifyRequest, onSendHookHandler, preSerializationHookHandler } from 'fastify'
import { stringify } from 'lossless-json'
import { answeredBy, essence } from '../contract/media-types.js'
import type { Content, Operation } from '../contract/types.js'
import type { SerializedResponse } from '../database/idempotency-keys.js'
import { callBack } from '../lib/maybe-promise.js'
import { byStatus, type ResponseCheck, ResponseError } from './response-validation.js'

/** What a handler gives, once its types have done their work. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** Writes the answers of one operation. Throws ResponseError where a body is not what the contract declares, or no header can hold a value. */
export type Write = (request: FastifyRequest, reply: FastifyReply, answer: Answer) => SerializedResponse

// What Node refuses to write, after the answer has begun (RFC 9110, section 5.5).
const notInHeaders = /[^\t\x20-\x7e\x80-\xff]/

/** The writer of an operation: each body by its media type, and by the serializer that fits its schema. */
export function createSerializer({ id, responses }: Operation): Write {
  const contentsOf = byStatus(new Map([...responses].map(([status, { contents }]) => [status, contents])))
  return (request, reply, { status, headers: own = {}, body }) => {
    const headers: Record<string, string | string[]> = {}
    for (const [name, value] of Object.entries(own)) {
      if (value === undefined) continue
      if (notInHeaders.test(String(value)))
        throw new ResponseError(`${id} ${status}`, `header ${name} holds what no header can`)
      headers[name] = Array.isArray(value) ? value.map(String) : String(value)
    }
    const { 'Content-Type': named, ...others } = headers
    const given = named?.toString()
    check(request, (contract) => contract.body(status, body, given))
    if (body === undefined) return { status, headers, body }
    const content = answeredBy(contentsOf(status) ?? [], given)
    if (content === undefined) return { status, headers, body: Buffer.from(body as string) } // of what is not held to the contract
    const type = contentType(content, given)
    const text =
      content.kind === 'json' ? toJson(request, reply, status, essence(type), body) : (body as string) // or bytes
    return { status, headers: { ...others, 'content-type': type }, body: Buffer.from(text) }
  }
}

// JSON and text are written in UTF-8.
function contentType({ mediaType, kind }: Content, given = mediaType): string {
  return kind === 'bytes' || /;\s*charset=/i.test(given) ? given : `${given}; charset=utf-8`
}

/** Throws ResponseError where a header of an answer is not what the contract declares. */
export function checkHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers }: SerializedResponse,
): void {
  const all = reply.getHeaders()
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value
  check(request, (contract) => contract.head(status, all))
}

// By the serializer that Fastify made of the schema, where that knows every number and the value has a schema's form.
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

/** A hook that holds the bodies of errors, which Fastify writes, to the contract. */
export const checkBody: preSerializationHookHandler = (request, reply, payload, done) =>
  callBack(
    () => check(request, (contract) => contract.body(reply.statusCode, payload)),
    (error) => (error ? done(error) : done(null, payload)),
  )

/** A hook that holds the headers of every answer to the contract. */
export const checkHead: onSendHookHandler = (request, reply, payload, done) =>
  callBack(
    () => check(request, (contract) => contract.head(reply.statusCode, reply.getHeaders())),
    (error) => (error ? done(error) : done(null, payload)),
  )

// What breaks the contract is told by an answer that is not held to it.
function check(request: FastifyRequest, run: (contract: ResponseCheck) => void): void {
  const { matched, isUnchecked } = request
  if (isUnchecked || matched?.config.responseCheck === undefined) return
  try {
    run(matched.config.responseCheck)
  } catch (error) {
    request.isUnchecked = true
    throw error
  }
}
