// The response of an error. Any operation can fail with any error, including one that it does not declare, or
// declares otherwise: then the real error helps the caller more than a 500, and is sent as it is.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../contract/contract.js'
import { defaultErrorStatuses } from '../contract/defaults.js'
import { type ErrorBody, errorBody, RequestError, toRequestError } from '../errors.js'
import { hasRoute } from '../not-found.js'
import { toSend } from './response-serialization.js'
import { type ResponseCheck, ResponseError } from './response-validation.js'

/**
 * Responds with an error. An error that the contract declares is validated like any response: if its headers
 * are not as declared, the client gets a 500, and the log has the reason.
 * @param check of the request's operation, if it has one
 */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: RequestError<string>,
  contract: Contract,
  check: ResponseCheck | undefined,
): void {
  // Those of its operation: a request may be refused before the hooks of its route.
  if (hasRoute(request)) reply.headers(request.routeOptions.config.headers ?? {})
  const body = errorBody(error, contract)
  if (!isDeclared(body, contract, check)) {
    if (!(error.code in defaultErrorStatuses))
      request.log.warn({ reason: `${body.status} ${error.code}` }, 'not declared by the contract')
    send(reply, error, body, contract)
    return
  }
  const problem = headProblem(reply, error, body, check)
  if (problem === undefined) send(reply, error, body, contract)
  else {
    request.log.error({ err: problem }, 'request failed')
    const failure = new RequestError('internal_error', problem.message)
    send(reply, failure, errorBody(failure, contract), contract)
  }
}

/** Fastify's error handler for servers that need no more than the error body: those of tools and tests. */
export function createErrorHandler(contract: Contract) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    if (error instanceof ResponseError) request.log.error({ err: error }, 'request failed')
    const { responseCheck } = request.routeOptions.config
    sendError(request, reply, toRequestError(error, contract), contract, responseCheck)
  }
}

function isDeclared(
  body: ErrorBody,
  { describesErrors }: Contract,
  check: ResponseCheck | undefined,
): boolean {
  return describesErrors && (check === undefined || check.takes(body.status, body))
}

function headProblem(
  reply: FastifyReply,
  { headers }: RequestError<string>,
  { status }: ErrorBody,
  check: ResponseCheck | undefined,
): ResponseError | undefined {
  const all = reply.getHeaders()
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value
  try {
    check?.head(status, all)
    return undefined
  } catch (error) {
    if (error instanceof ResponseError) return error
    throw error
  }
}

// As text: the schema that the operation declares may not have every field.
function send(
  reply: FastifyReply,
  { headers }: RequestError<string>,
  body: ErrorBody,
  { errorType }: Contract,
): void {
  const { status } = body
  const textOrBytes = toSend(JSON.stringify(body), headers)
  void reply.type(`${errorType}; charset=utf-8`).code(status).headers(headers).send(textOrBytes)
}
