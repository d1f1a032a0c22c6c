// Runs the handler of an operation, inside whatever wraps it: serializes the response, validates it against
// the contract, and sends it.

import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../document/contract.js'
import { RequestError } from '../document/request-error.js'
import { successContents } from '../document/responses.js'
import { takesUploads } from '../document/uploads.js'
import type { Address } from './base/address.js'
import { type ErrorFacts, factsOf } from './base/errors.js'
import { createChoice } from './request/accept.js'
import { handing } from './request/body-memory.js'
import { type RequestParts, requestParts } from './request/request-parts.js'
import { receiving, untilRefused } from './request/upload.js'
import { withAbsoluteLinks } from './response/absolute-links.js'
import { hasEntityTags, isKnownTo, withEntityTag } from './response/entity-tags.js'
import type { ErrorForm, ErrorResponse } from './response/error-forms.js'
import { addHeaders } from './response/list-headers.js'
import {
  createSerializer,
  type HandlerResponse,
  type SerializedResponse,
} from './response/response-serialization.js'
import { isOver, mayStream, sendStream } from './response/response-stream.js'
import type { ResponseCheck } from './response/response-validation.js'

/**
 * Responds to a request.
 * @param resource what a wrapper lends to the handler, such as a transaction, in place of what it would get
 * by itself
 */
export type Respond<Resource> = (
  request: FastifyRequest,
  reply: FastifyReply,
  resource?: Resource,
) => Promise<SerializedResponse>

/** Wraps the handler of an operation; returns `respond` itself for one that it leaves alone. */
export type Around<Resource> = (respond: Respond<Resource>, operation: Operation) => Respond<Resource>

/** A handler for each operation, of the types that `contract-engine generate` writes for a contract. */
export type Handlers<
  Operations extends { readonly [Id in keyof Operations]: { request: unknown; response: unknown } },
  Context = undefined,
> = {
  readonly [Id in keyof Operations]: (
    request: Operations[Id]['request'],
    context: Context,
  ) => Promise<Operations[Id]['response']>
}

/** Any handler, its types erased. */
export type AnyHandler = (request: RequestParts, context: unknown) => Promise<HandlerResponse>

export interface RouteHandlerParts<Resource> {
  readonly contract: Contract
  /** What wraps each handler, outermost first. */
  readonly around?: readonly Around<Resource>[]
  /** The second argument of a handler. By default undefined. */
  readonly context?: (request: FastifyRequest, operation: Operation, resource?: Resource) => unknown
}

type Parts<Resource> = RouteHandlerParts<Resource> & { readonly address: Address }

/** What an operation's responses are made and validated with. */
export interface ResponseParts {
  readonly check: ResponseCheck
  readonly errorForm: ErrorForm
  /** Whether Fastify's serializer cannot write all that the schemas allow. */
  readonly isExact: boolean
}

/** Creates the Fastify handler of an operation. */
export function createRouteHandler<Resource>(
  operation: Operation,
  handler: AnyHandler,
  { check, errorForm, isExact }: ResponseParts,
  { contract, address, around = [], context = () => undefined }: Parts<Resource>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const serialize = createSerializer(operation, check, isExact)
  const isConditional = hasEntityTags(operation)
  const partsOf = partsWith(operation)
  const streams = mayStream(operation)
  const responseOfError = createErrorResponse(operation, contract, errorForm)

  const run: Respond<Resource> = async (request, reply, resource) => {
    // A stream that a handler returns may have failed: its error, which ends the process if nobody listens,
    // comes behind all that follows without a wait if this is a microtask.
    if (streams) await undefined
    const returned = handler(partsOf(request), context(request, operation, resource))
    const serialized = serialize(reply, await returned.catch((error) => responseOfError(error, request.id)))
    const response = isConditional ? withEntityTag(serialized) : serialized
    const { status, headers, body } = response
    // As they are sent; what is stored keeps its links relative.
    const sent = withAbsoluteLinks(headers, request, address)
    checkHeaders(reply, status, sent, check)
    return { status, headers, body, sent }
  }

  const isUpload = takesUploads(operation)
  const innermost = isUpload ? receiving(run) : run
  const wrapped = around.reduceRight((inner, wrap) => wrap(inner, operation), innermost)
  const respond = operation.body === undefined ? wrapped : handing(wrapped)
  const send = createSend(operation, address)
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    send(request, reply, await respond(request, reply))
  return isUpload ? untilRefused(handle) : handle
}

// A declared 4xx that a handler throws is a response like one that it returns.
function createErrorResponse({ id }: Operation, contract: Contract, errorForm: ErrorForm) {
  return (error: unknown, requestId: string): HandlerResponse => {
    if (!(error instanceof RequestError)) throw error
    const sent = formed(factsOf(error, contract, { requestId, operation: id }), errorForm)
    if (sent === undefined || sent.status >= 500 || !sent.isDeclared) throw error
    const { status, type, body } = sent
    return { status, headers: { ...error.headers, 'Content-Type': type }, body }
  }
}

function createSend(operation: Operation, address: Address) {
  const isConditional = hasEntityTags(operation)
  const streams = mayStream(operation)
  return (request: FastifyRequest, reply: FastifyReply, response: SerializedResponse): unknown => {
    const { status, body } = response
    const headers = response.sent ?? withAbsoluteLinks(response.headers, request, address)
    if (streams && body instanceof Readable)
      return sendStream(request, reply, { status, headers, body }, operation.id)
    if (isOver(request, reply)) return undefined
    addHeaders(reply, headers)
    if (!isConditional || !isKnownTo(request.headers['if-none-match'], response))
      return reply.code(status).send(body)
    // For HEAD, Fastify derives Content-Length from the body: that of a 200 (RFC 9110, section 8.6).
    return reply
      .code(304)
      .removeHeader('content-type')
      .send(request.method === 'HEAD' ? body : undefined)
  }
}

// With the media type that the client prefers, or else the first, if successes declare several.
function partsWith(operation: Operation): (request: FastifyRequest) => RequestParts {
  const contents = successContents(operation)
  const [first, ...others] = contents
  if (first === undefined || others.length === 0) return requestParts
  const choose = createChoice([first, ...others])
  return (request) => {
    return { ...requestParts(request), accept: choose(request.headers.accept) }
  }
}

// Undefined if the application's function fails: the error handler calls it again, and logs why.
function formed(facts: ErrorFacts, form: ErrorForm): ErrorResponse | undefined {
  try {
    return form(facts)
  } catch {
    return undefined
  }
}

// With the headers that are already set. Before those of the response are: a 500 must not carry them.
function checkHeaders(
  reply: FastifyReply,
  status: number,
  headers: SerializedResponse['headers'],
  check: ResponseCheck,
): void {
  check.head(status, (name) => headers[name] ?? reply.getHeader(name))
}
