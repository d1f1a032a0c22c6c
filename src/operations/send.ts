// The answers of handlers on their way out: held to the contract, and written as bytes.

import type { FastifyReply, FastifyRequest, onSendHookHandler, preSerializationHookHandler } from 'fastify'
import { stringify } from 'lossless-json'
import type { Operation } from '../contract/types.js'
import type { KeptAnswer } from '../database/idempotency-keys.js'
import { callBack } from '../lib/maybe-promise.js'
import { essence, isJson } from '../schemas/media-types.js'
import { byStatus, type ResponseCheck } from './response-validation.js'

/** What a handler gives, once its types have done their work. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

/** Writes the answers of one operation. Throws ResponseError where a body is not what the contract declares. */
export type Write = (request: FastifyRequest, reply: FastifyReply, answer: Answer) => KeptAnswer

/** The writer of an operation: the declared media type of each status, and the serializer that fits its schema. */
export function createWrite({ responses }: Operation): Write {
  // Of several types the first of JSON counts, else the first.
  const types = [...responses.values()].map(({ status, mediaTypes }) => {
    const declared = mediaTypes.find(isJson) ?? mediaTypes[0]
    return [status, declared === undefined ? undefined : answerType(declared)] as const
  })
  const typeOf = byStatus(new Map(types))
  return (request, reply, { status, headers: own = {}, body }) => {
    const type = typeOf(status)
    check(request, (contract) => contract.body(status, body))
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(own)) if (value !== undefined) headers[name] = value
    if (body === undefined) return { status, headers, body }
    if (type !== undefined) headers['content-type'] = type.header
    if (!type?.isJson) return { status, headers, body: Buffer.from(body as string) } // or bytes, as its check has seen
    return { status, headers, body: Buffer.from(toJson(request, reply, status, type, body)) }
  }
}

/** Throws ResponseError where a header of an answer is not what the contract declares. */
export function checkHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers }: KeptAnswer,
): void {
  const all = reply.getHeaders()
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value
  check(request, (contract) => contract.head(status, all))
}

interface AnswerType {
  readonly mediaType: string
  readonly isJson: boolean
  /** Its `Content-Type`. */
  readonly header: string
}

function answerType(declared: string): AnswerType {
  const mediaType = essence(declared)
  if (!isJson(declared)) return { mediaType, isJson: false, header: declared }
  return { mediaType, isJson: true, header: `${mediaType}; charset=utf-8` }
}

// By the serializer that Fastify made of the schema, where that knows every number and the value has a schema's form.
function toJson(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { mediaType }: AnswerType,
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
