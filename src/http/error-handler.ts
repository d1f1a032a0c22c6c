// The error handler: every error of a request leaves here, with the one error body.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorBody } from '../../generated/operations.js'
import { isUnavailable } from '../database/unavailable.js'
import { overload } from '../middleware/load-shedding.js'
import type { Contract } from '../openapi/contract/contract.js'
import { defaultErrorStatuses } from '../openapi/contract/defaults.js'
import { type ApiError, errorBody, toApiError, unavailable } from '../openapi/errors.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Why a request was refused without an error of the service, for its log line. */
    reason: string | undefined
    /** The response skips validation: it is validated already, reports an invalid response, or is an error that the contract omits. */
    isUnchecked: boolean
  }
}

/** Responds to a request with an error. */
export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** Creates Fastify's error handler. It logs errors of the service. */
export function createErrorHandler(contract: Contract): ErrorHandler {
  return (error, request, reply) => {
    if (reply.sent) return // timed out: the client has its 503
    if (request.raw.socket.destroyed && isUnavailable(error)) return // the client has gone, so its statements were abandoned
    request.server.admission.setLastHeaders(request, reply)
    const apiError = describe(error, request, contract)
    const body = errorBody(apiError, contract)
    if (error === overload) request.reason = 'overload'
    else if (apiError.code === 'not_implemented')
      request.log.warn({ reason: apiError.message }, 'not implemented')
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
  // ECONNRESET may come from the database, or from a client that aborted its request body.
  const isOutage = error === overload || (isUnavailable(error) && error !== raw.errored)
  return isOutage ? unavailable(error) : toApiError(error, contract)
}

// Any operation can fail with any error, including one that it does not declare, or declares otherwise.
function isDescribed(body: ErrorBody, { matched }: FastifyRequest, contract: Contract): boolean {
  if (!contract.describesErrors) return false
  const { responseCheck } = matched?.config ?? {}
  return responseCheck === undefined || responseCheck.takes(body.status, body)
}
