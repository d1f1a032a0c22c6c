// The error handler: every error of a request leaves here, with the one error body.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUnavailable } from '../database/unavailable.js'
import { overload } from '../middleware/load-shedding.js'
import {
  type Contract,
  errorBody,
  type RequestError,
  sendError,
  toRequestError,
  unavailable,
} from '../openapi/index.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Why a request was refused without an error of the service, for its log line. */
    reason: string | undefined
  }
}

/** Responds to a request with an error. */
export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** Creates Fastify's error handler. It logs errors of the service. */
export function createErrorHandler(contract: Contract): ErrorHandler {
  return (error, request, reply) => {
    if (reply.sent) return // timed out: the client has its 503
    // The peer has gone, so its statements were abandoned.
    if (request.raw.socket.destroyed && isUnavailable(error)) return
    request.server.admission.setLastHeaders(request, reply)
    const described = describe(error, request, contract)
    if (error === overload) request.reason = 'overload'
    else if (described.code === 'not_implemented')
      request.log.warn({ reason: described.message }, 'not implemented')
    else if (errorBody(described, contract).status >= 500 && request.reason === undefined)
      request.log.error({ err: described.options.cause ?? described }, 'request failed')
    sendError(request, reply, described, contract, request.matched?.config.responseCheck)
  }
}

function describe(error: unknown, { raw }: FastifyRequest, contract: Contract): RequestError<string> {
  // ECONNRESET may come from the database, or from a peer that aborted its request body.
  const isOutage = error === overload || (isUnavailable(error) && error !== raw.errored)
  return isOutage ? unavailable(error) : toRequestError(error, contract)
}
