// The one way out for every error.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorBody } from '../../generated/operations.js'
import { defaultErrorStatuses } from '../contract/defaults.js'
import type { Contract } from '../contract/types.js'
import { isUnavailable } from '../database/unavailable.js'
import { type ApiError, errorBody, toApiError, unavailable } from '../errors.js'
import { overload } from './load-shedding.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Why it was refused though nothing is at fault, for its line in the log. */
    reason: string | undefined
    /** The answer to this request is not held to the contract: it was before, tells of one that broke it, or of what it leaves open. */
    isUnchecked: boolean
  }
}

/** Answers a request with an error. */
export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** Makes the error handler: the one error body, logged where it is a fault of the service. */
export function createErrorHandler(contract: Contract): ErrorHandler {
  return (error, request, reply) => {
    if (reply.sent) return // its time was up, and the caller has been told
    if (request.raw.socket.destroyed && isUnavailable(error)) return // nothing more was begun for a caller who has gone
    request.server.admission.setLastHeaders(request, reply)
    const apiError = describe(error, request, contract)
    const body = errorBody(apiError, contract)
    if (error === overload) request.reason = 'overload'
    else if (apiError.code === 'not_implemented')
      request.log.warn({ reason: apiError.message }, 'not written yet')
    else if (body.status >= 500 && request.reason === undefined)
      request.log.error({ err: apiError.options.cause ?? apiError }, 'request failed')
    if (!isDescribed(body, request, contract)) {
      if (!(apiError.code in defaultErrorStatuses))
        request.log.warn({ reason: `${body.status} ${apiError.code}` }, 'not declared by the contract')
      request.isUnchecked = true
      reply.serializer(JSON.stringify)
    }
    void reply
      .type(`${contract.errorType}; charset=utf-8`)
      .code(body.status)
      .headers(apiError.headers)
      .send(body)
  }
}

function describe(error: unknown, { raw }: FastifyRequest, contract: Contract): ApiError {
  // A body that breaks off has the same code as a connection to the database that does.
  const isOutage = error === overload || (isUnavailable(error) && error !== raw.errored)
  return isOutage ? unavailable(error) : toApiError(error, contract)
}

// An error may befall any operation, also one that does not speak of it, or says something else of its status.
function isDescribed(body: ErrorBody, { matched }: FastifyRequest, contract: Contract): boolean {
  if (!contract.describesErrors) return false
  const { responseCheck } = matched?.config ?? {}
  return responseCheck === undefined || responseCheck.takes(body.status, body)
}
