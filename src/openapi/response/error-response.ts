// The response of an error. Any operation can fail with any error, including one that it does not declare, or
// declares otherwise: then the real error helps the caller more than a 500, and is sent as it is.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../contract/contract.js'
import { ownErrorStatuses } from '../contract/defaults.js'
import { type ErrorBody, errorBody, ownError, type RequestError, toRequestError } from '../errors.js'
import { hasRoute } from '../not-found.js'
import { withAbsoluteLinks } from './absolute-links.js'
import { addHeaders } from './list-headers.js'
import { toSend } from './response-serialization.js'
import { type ResponseCheck, ResponseError } from './response-validation.js'

/** Responds to a request with an error. */
export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/**
 * Creates the handler of errors, for `setErrorHandler` and, because Fastify runs neither hooks nor the error
 * handler for a malformed URL, for its option `frameworkErrors`. It responds with the one error body, and
 * logs the cause of a 5xx.
 * @param isLogged false for a request whose 5xx is expected: one that is shed, say
 */
export function errorHandler(
  contract: Contract,
  isLogged: (request: FastifyRequest) => boolean = () => true,
): ErrorHandler {
  return (error, request, reply) => {
    if (reply.sent) return // such as one that timed out
    const refusal = toRequestError(error, contract)
    if (isLogged(request)) logCause(request, refusal, contract)
    sendError(request, reply, refusal, contract)
  }
}

function logCause({ log }: FastifyRequest, error: RequestError, contract: Contract): void {
  if (error.code === 'not_implemented') log.warn({ reason: error.message }, 'not implemented')
  else if (errorBody(error, contract).status >= 500)
    log.error({ err: error.options.cause ?? error }, 'request failed')
}

// An error that the contract declares is validated like any response: if its headers are not as declared, the
// client gets a 500, and the log has the reason.
function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: RequestError,
  contract: Contract,
): void {
  // Those of its operation: a request may be refused before the hooks of its route.
  const { address, deprecation, responseCheck } = hasRoute(request) ? request.routeOptions.config : {}
  if (deprecation && address) addHeaders(reply, deprecation(address.operationsFor(request)))
  const headers = address ? withAbsoluteLinks(error.headers, request, address) : error.headers
  const body = errorBody(error, contract)
  if (!isDeclared(body, contract, responseCheck)) {
    if (isOfHandler(error))
      request.log.warn({ reason: `${body.status} ${error.code}` }, 'not declared by the contract')
    send(reply, headers, body, contract)
    return
  }
  const problem = headProblem(reply, headers, body, responseCheck)
  if (problem === undefined) send(reply, headers, body, contract)
  else {
    request.log.error({ err: problem }, 'request failed')
    const failure = ownError('internal_error', problem.message)
    send(reply, {}, errorBody(failure, contract), contract)
  }
}

// The statuses of a handler's errors are the contract's. A part of the server names that of its own.
function isOfHandler({ code, options }: RequestError): boolean {
  return options.status === undefined && !(code in ownErrorStatuses)
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
  headers: RequestError['headers'],
  { status }: ErrorBody,
  check: ResponseCheck | undefined,
): ResponseError | undefined {
  const own = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  try {
    check?.head(status, (name) => own.get(name) ?? reply.getHeader(name))
    return undefined
  } catch (error) {
    if (error instanceof ResponseError) return error
    throw error
  }
}

// As text: the schema that the operation declares may not have every field.
function send(
  reply: FastifyReply,
  headers: RequestError['headers'],
  body: ErrorBody,
  { errorType }: Contract,
): void {
  const { status } = body
  const textOrBytes = toSend(JSON.stringify(body), headers)
  addHeaders(reply, headers)
  void reply.type(`${errorType}; charset=utf-8`).code(status).send(textOrBytes)
}
