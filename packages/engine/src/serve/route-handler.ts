// Runs the handler of an operation, inside its wrappers: serializes the response, validates it against the
// contract, and sends it.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../document/contract.js'
import { RequestError } from '../document/request-error.js'
import { successContents } from '../document/responses.js'
import { takesUploads } from '../document/uploads.js'
import type { Address } from './paths/address.js'
import { createChoice } from './request/accept.js'
import { handing } from './request/body-memory.js'
import { type ErrorFacts, factsOf } from './request/errors.js'
import { type RequestParts, readCookies } from './request/request-parts.js'
import { receiving, untilRefused, uploadOf } from './request/upload.js'
import { withAbsoluteLinks } from './response/absolute-links.js'
import { entityHeaders, hasEntityTags } from './response/entity-tags.js'
import type { ErrorForm, ErrorResponse } from './response/error-forms.js'
import { refusedChange } from './response/refused-change.js'
import {
  createSerializer,
  type HandlerResponse,
  type JsonWriters,
  type SerializedResponse,
} from './response/response-serialization.js'
import { mayStream } from './response/response-stream.js'
import type { ProvedHeaders, ResponseCheck } from './response/response-validation.js'
import { createSend, isToldOf } from './sending.js'

/**
 * Responds to a request.
 * @param resource what a wrapper lends to the handler, such as a transaction, instead of the resource that
 * the handler would otherwise get
 */
export type Respond<Resource> = (
  request: FastifyRequest,
  reply: FastifyReply,
  resource?: Resource,
) => Promise<SerializedResponse>

/** Wraps the handler of an operation; returns `respond` itself if it leaves the operation alone. */
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

/** Any handler, without its types. */
export type AnyHandler = (request: RequestParts, context: unknown) => Promise<HandlerResponse>

export interface RouteHandlerParts<Resource> {
  readonly contract: Contract
  /** The wrappers of each handler, outermost first. */
  readonly around?: readonly Around<Resource>[]
  /** Makes the second argument of a handler. By default, it is undefined. */
  readonly context?: (request: FastifyRequest, operation: Operation, resource?: Resource) => unknown
}

type Parts<Resource> = RouteHandlerParts<Resource> & { readonly address: Address }

/** Makes and validates an operation's responses. */
export interface ResponseParts {
  readonly check: ResponseCheck
  readonly errorForm: ErrorForm
  readonly proved: ProvedHeaders
  readonly writers: JsonWriters
}

/** Creates the Fastify handler of an operation. */
export function createRouteHandler<Resource>(
  operation: Operation,
  handler: AnyHandler,
  { check, errorForm, proved, writers }: ResponseParts,
  { contract, address, around = [], context = () => undefined }: Parts<Resource>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const serialize = createSerializer(operation, check, writers)
  const isConditional = hasEntityTags(operation)
  const partsOf = partsWith(operation)
  const streams = mayStream(operation)
  const checkHead = check.headBeside(proved)
  const responseOfError = createErrorResponse(operation, contract, errorForm)

  const finish = (request: FastifyRequest, reply: FastifyReply, returned: HandlerResponse) => {
    const serialized = serialize(reply, returned)
    const { status, headers: own, body } = serialized
    // These links are the ones that are sent; a stored response keeps its links relative.
    const sent = withAbsoluteLinks(own, request, address)
    const added = isConditional ? entityHeaders(serialized) : undefined
    // Checks the response together with the headers that the reply already has. It runs before the response's
    // own headers are set, because a 500 must not carry them.
    checkHead(status, sent, (name) => added?.[name] ?? reply.getHeader(name))
    if (added === undefined) return { status, headers: own, body, sent }
    const whole = Object.assign(added, sent) // not added where the handler has set its own
    return { status, headers: operation.isIdempotent ? { ...whole, ...own } : whole, body, sent: whole }
  }

  const finishChange: typeof finish = (request, reply, returned) => {
    try {
      return finish(request, reply, returned)
    } catch (error) {
      const refusal = refusedChange(error, request.body) ?? error
      return finish(request, reply, responseOfError(refusal, request.id))
    }
  }
  const finishReturned = operation.method === 'PATCH' ? finishChange : finish

  // Written with `then`: one promise beside the handler's own, where an async function would make three.
  const run: Respond<Resource> = (request, reply, resource) => {
    try {
      return handler(partsOf(request), context(request, operation, resource)).then(
        (returned) => finishReturned(request, reply, returned),
        (error) => finish(request, reply, responseOfError(placed(request, error), request.id)),
      )
    } catch (error) {
      return Promise.reject(error)
    }
  }

  // The stream that a handler returns may already have failed, and an `error` event without a listener ends
  // the process. Because this is a microtask, the event comes after everything that follows without a wait.
  const runStreaming: Respond<Resource> = async (request, reply, resource) => {
    await undefined
    return run(request, reply, resource)
  }

  const isUpload = takesUploads(operation)
  const innermost = streams ? runStreaming : run
  const received = isUpload ? receiving(innermost) : innermost
  const wrapped = around.reduceRight((inner, wrap) => wrap(inner, operation), received)
  const respond = operation.body === undefined ? wrapped : handing(wrapped)
  const send = createSend(operation, address)
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    try {
      const sent = send(request, reply, await respond(request, reply))
      // Returning the reply makes Fastify (5.12) wait until the connection has taken all of it.
      return sent === reply && reply.sent ? undefined : await sent
    } catch (error) {
      if (isToldOf(request, reply, error)) return undefined
      throw error
    }
  }
  return isUpload ? untilRefused(handle) : handle
}

// If the body is a stream of items, adds the line of the item to the error.
function placed(request: FastifyRequest, error: unknown): unknown {
  const arriving = uploadOf(request)
  return arriving === undefined ? error : arriving.placed(error)
}

// A RequestError that a handler throws is sent like a response that it returns, if the operation declares the
// status and it is a 4xx.
function createErrorResponse({ id }: Operation, contract: Contract, errorForm: ErrorForm) {
  return (error: unknown, requestId: string): HandlerResponse => {
    if (!(error instanceof RequestError)) throw error
    const sent = formed(factsOf(error, contract, { requestId, operation: id }), errorForm)
    if (sent === undefined || sent.status >= 500 || !sent.isDeclared) throw error
    const { status, type, body } = sent
    return { status, headers: { ...error.headers, 'Content-Type': type }, body }
  }
}

/** Returns the parts of a validated request, as handlers receive them. */
export function requestParts(request: FastifyRequest): RequestParts {
  const { params, query, headers, body } = request
  return { params, query, headers, cookies: request[readCookies] ?? {}, body }
}

// If the operation's successes declare several media types, adds the one that the client prefers, or else the
// first.
function partsWith(operation: Operation): (request: FastifyRequest) => RequestParts {
  const contents = successContents(operation)
  const [first, ...others] = contents
  if (first === undefined || others.length === 0) return requestParts
  const choose = createChoice([first, ...others])
  return (request) => {
    return { ...requestParts(request), accept: choose(request.headers.accept) }
  }
}

// Returns undefined if the application's function throws: the error handler calls it again, and logs why.
function formed(facts: ErrorFacts, form: ErrorForm): ErrorResponse | undefined {
  try {
    return form(facts)
  } catch {
    return undefined
  }
}
