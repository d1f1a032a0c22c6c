// The errors of the service: outages and shed requests become 503, and the headers of rate limits are added.
// The engine responds.

import { type Contract, type ErrorBodyOf, errorHandler, RequestError, StorageError } from 'contract-engine'
import type { FastifyRequest } from 'fastify'
import { isReadOnly, isUnavailable, UnstorableText } from '../database/unavailable.js'
import { overload, tooManyStreams } from '../middleware/load-shedding.js'
import { unavailable } from '../middleware/unavailable.js'
import { bodiesFull } from './body-memory.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** For the log line: why a request was refused, if not by an error of the service. */
    reason: string | undefined
  }
}

/** Responds to a request with an error. */
export type ErrorHandler = ReturnType<typeof errorHandler>

/** Creates the service's error handler, through which every error of a request leaves. */
export function createServiceErrorHandler(
  contract: Contract,
  errorBody: ErrorBodyOf | undefined,
): ErrorHandler {
  const respond = errorHandler(contract, { errorBody, isLogged: ({ reason }) => reason === undefined })
  return (error, request, reply) => {
    if (reply.sent) return // timed out: the client has its 503
    // If the peer has gone, this error is only that of its abandoned statements or of its aborted signal.
    if (request.raw.socket.destroyed && (isUnavailable(error) || request.lifetime?.hasSignal)) return
    request.server.admission.setLastHeaders(request, reply)
    if (error === overload || error === tooManyStreams || error === bodiesFull) request.reason = 'overload'
    else if (isUnauthorized(error)) request.reason = error.options.cause.message
    respond(refusal(error, request), request, reply)
  }
}

// Long, because an operator must make room first: until then, a client would send its file in vain.
const fullDiskSeconds = 600

// Translates an error of a handler. An UnstorableText without a field comes from a value that has no name in
// the request, such as a part of a text.
function refusal(error: unknown, request: FastifyRequest): unknown {
  if (error instanceof UnstorableText) return unstorable(error)
  if (error instanceof StorageError && error.isFull) return unavailable(error, fullDiskSeconds)
  return fault(error, request) ?? (isOutage(error, request) ? unavailable(error) : error)
}

function unstorable(cause: UnstorableText): RequestError {
  const message = 'The request has a text with NUL or half of a surrogate pair, which cannot be stored.'
  return new RequestError('invalid_request', message, { cause })
}

// True for a 401 whose check tells the log more than the caller, such as why a token was refused.
function isUnauthorized(error: unknown): error is RequestError & { readonly options: { cause: Error } } {
  return error instanceof RequestError && error.statusCode === 401 && error.options.cause instanceof Error
}

// Returns the error of a GET whose handler writes. Safe operations get read-only connections, so that such a
// handler fails in development as it would on a standby.
function fault(cause: unknown, { matched }: FastifyRequest): Error | undefined {
  const operation = matched?.config.operation
  if (!operation?.isSafe || !isReadOnly(cause)) return undefined
  return new Error(`${operation.id} is a ${operation.method}, and its handler may not write`, { cause })
}

// ECONNRESET may come from the database, or from a peer that aborted its request body.
function isOutage(error: unknown, { raw }: FastifyRequest): boolean {
  return isUnavailable(error) && error !== raw.errored
}
