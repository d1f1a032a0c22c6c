// Errors below Fastify: malformed HTTP, headers that are too large, requests that are too slow. Fastify has
// no request then, and runs neither hooks nor handlers of errors: the response is written to the socket.

import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { ownError, RequestError } from '../../document/request-error.js'
import { lastResponse, lingeringClose, responseOn } from '../../lib/connection.js'
import { malformedRequest } from '../request/errors.js'
import { type ErrorHandlerOptions, errorResponses } from './error-response.js'

export interface ClientErrorOptions extends Pick<ErrorHandlerOptions, 'errorBody'> {
  /** What a response has besides its type. @param requestId the id in its body and its log line */
  readonly headers?: (requestId: string) => Readonly<Record<string, string>>
  /** What its log line says besides. */
  readonly logged?: (socket: Socket) => object
  /**
   * Fails the request on a connection that is still arriving and whose headers have arrived: Fastify has
   * that, and its response has hooks and a log line. Returns false if there is none.
   */
  readonly failArriving?: (socket: Socket, fault: RequestError) => boolean
}

/**
 * Creates the handler for Fastify's option `clientErrorHandler`: it responds with a body of the form that
 * most errors of the contract have, and closes the connection. If it begins with a request line that names a
 * path below another contract of the application, the form is that of this one.
 */
export function clientErrorHandler(
  contract: Contract,
  { errorBody, headers, logged, failArriving }: ClientErrorOptions = {},
): (this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket) => void {
  const responseTo = errorResponses(contract, errorBody)
  return function respond(error, socket) {
    if (error.code === 'ECONNRESET' || hasResponse(socket)) {
      socket.destroy()
      return
    }
    if (!socket.writable) return // it has its last response, and what follows is discarded
    const fault = faultOf(error, contract)
    if (failArriving?.(socket, fault)) return
    const requestId = randomUUID()
    const response = responseTo(fault, { requestId, log: this.log, server: this.server })
    const { status } = response
    this.log.info({ requestId, status, ...logged?.(socket), reason: error.code }, 'request refused')
    lingeringClose(socket, lastResponse(headers?.(requestId) ?? {}, response))
  }
}

// Writing into a response that has started would corrupt it.
function hasResponse(socket: Socket): boolean {
  return responseOn(socket)?.headersSent === true
}

function faultOf(error: NodeJS.ErrnoException, contract: Contract): RequestError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return clientFaults.headersTooLarge(contract, error)
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return clientFaults.tooSlow(error)
  return clientFaults.malformed(error)
}

/** The errors in a request that only the HTTP server finds, before the request has a route. */
export const clientFaults = {
  /** The request is not valid HTTP, or a proxy may have read it differently: 400. */
  malformed(cause?: unknown): RequestError {
    return ownError('malformed_request', malformedRequest, { cause })
  },
  /** The request did not arrive in time: 408. */
  tooSlow(cause?: unknown): RequestError {
    return new RequestError('request_timeout', 'The request did not arrive in time.', { status: 408, cause })
  },
  /** Its header section is too long: 431. */
  headersTooLarge({ limits }: Pick<Contract, 'limits'>, cause?: unknown): RequestError {
    const message = `The header section is longer than ${limits.header} bytes.`
    return new RequestError('headers_too_large', message, { status: 431, cause })
  },
}
