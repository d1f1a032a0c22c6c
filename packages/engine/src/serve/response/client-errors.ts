// Errors below Fastify: malformed HTTP, headers that are too large, requests that are too slow. Fastify has
// no request then, and runs neither hooks nor handlers of errors: the response is written to the socket.

import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { ownError, RequestError } from '../../document/request-error.js'
import { lastResponse } from '../../lib/last-response.js'
import { type ErrorHandlerOptions, errorResponses } from './error-response.js'

// A peer that still sends would lose the response if the connection were reset at once.
const lingerMs = 1_000

/**
 * Creates the handler for Fastify's option `clientErrorHandler`: it responds with a body of the form that
 * most errors of the contract have, and closes the connection. If it begins with a request line that names a
 * path below another contract of the application, the form is that of this one.
 */
export function clientErrorHandler(
  contract: Contract,
  { errorBody }: Pick<ErrorHandlerOptions, 'errorBody'> = {},
): (this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket) => void {
  const responseTo = errorResponses(contract, errorBody)
  return function respond(error, socket) {
    if (!socket.writable) return // it has its last response, and what follows is discarded
    if (error.code === 'ECONNRESET' || hasResponse(socket)) {
      socket.destroy()
      return
    }
    const requestId = randomUUID()
    const response = responseTo(faultOf(error), { requestId, log: this.log, server: this.server })
    this.log.info({ requestId, status: response.status, reason: error.code }, 'request refused')
    socket.end(lastResponse({}, response))
    socket.resume()
    setTimeout(() => socket.destroy(), lingerMs).unref()
  }
}

// Writing into a response that has started would corrupt it. Node has no other way to know it.
function hasResponse(socket: Socket & { readonly _httpMessage?: ServerResponse }): boolean {
  return socket._httpMessage?.headersSent === true
}

function faultOf(error: NodeJS.ErrnoException): RequestError {
  const of = (code: string, message: string, status: number) =>
    new RequestError(code, message, { status, cause: error })
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return of('headers_too_large', 'The header section is too long.', 431)
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return of('request_timeout', 'The request did not arrive in time.', 408)
  return ownError('malformed_request', 'The request is not valid HTTP.', { cause: error })
}
