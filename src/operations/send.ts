// The answers of handlers on their way out: held to the contract, and written as bytes.

import type { FastifyReply, FastifyRequest, onSendHookHandler, preSerializationHookHandler } from 'fastify'
import { stringify } from 'lossless-json'
import type { Operation } from '../contract/types.js'
import type { KeptAnswer } from '../database/idempotency-keys.js'
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

/** Makes it. */
export function createWrite({ responses }: Operation): Write {
  // Of several types the first of JSON counts, else the first.
  const types = [...responses.values()].map(({ status, mediaTypes }) => {
    const declared = mediaTypes.find(isJson) ?? mediaTypes[0]
    return [status, declared === undefined ? undefined : answerType(declared)] as const
  })
  const typeOf = byStatus(new Map(types))
  return (request, reply, { status, headers: own = {}, body }) => {
    const type = typeOf(status)
    checkOf(request)?.body(status, body)
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
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  checkOf(request)?.head(status, { ...reply.getHeaders(), ...Object.fromEntries(own) })
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
export const checkBody = checking((check, reply, body) => check.body(reply.statusCode, body))

/** A hook that holds the headers of every answer to the contract. */
export const checkHead = checking((check, reply) => check.head(reply.statusCode, reply.getHeaders()))

function checking(run: (check: ResponseCheck, reply: FastifyReply, payload: unknown) => void) {
  const hook: preSerializationHookHandler & onSendHookHandler = (request, reply, payload, done) => {
    const check = checkOf(request)
    try {
      if (check !== undefined) run(check, reply, payload)
    } catch (error) {
      done(error as Error)
      return
    }
    done(null, payload)
  }
  return hook
}

function checkOf({ matched, isUnchecked }: FastifyRequest): ResponseCheck | undefined {
  return isUnchecked ? undefined : matched?.config.responseCheck
}
