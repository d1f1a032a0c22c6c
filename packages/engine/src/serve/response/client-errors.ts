// Handles errors below Fastify: malformed HTTP, headers that are too large, requests that are too slow.
// Fastify has no request then, and runs neither hooks nor error handlers, so the response is written to the
// socket.

import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { ownError, RequestError } from '../../document/request-error.js'
import { lastResponse, lingeringClose, responseOn } from '../../lib/connection.js'
import { malformedRequest } from '../request/errors.js'
import { type ErrorHandlerOptions, errorResponses } from './error-response.js'

export interface ClientErrorOptions extends Pick<ErrorHandlerOptions, 'errorBody'> {
  /**
   * Returns the headers of a response besides its type.
   * @param requestId the id in the body and the log line
   */
  readonly headers?: (requestId: string) => Readonly<Record<string, string>>
  /** Returns further fields of the log line. */
  readonly logged?: (socket: Socket) => object
  /**
   * Fails a request whose headers have arrived and whose body is still arriving: Fastify has that request, so
   * its response has hooks and a log line. Returns false if the connection has none.
   */
  readonly failArriving?: (socket: Socket, fault: RequestError) => boolean
}

/**
 * Creates the handler for Fastify's option `clientErrorHandler`. It responds with a body in the form of most
 * errors of the contract, and closes the connection. If the bytes begin with a request line whose path is
 * below another contract of the application, the body has the form of that contract.
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
    if (!socket.writable) return // the last response has been sent, and later bytes are discarded
    const fault = faultOf(error, contract)
    if (failArriving?.(socket, fault)) return
    const requestId = randomUUID()
    const response = responseTo(fault, { requestId, log: this.log, server: this.server })
    const { status } = response
    this.log.info({ requestId, status, ...logged?.(socket), reason: error.code }, 'request refused')
    lingeringClose(socket, lastResponse(headers?.(requestId) ?? {}, response))
  }
}

// To write into a response that has started would corrupt it.
function hasResponse(socket: Socket): boolean {
  return responseOn(socket)?.headersSent === true
}

function faultOf(error: NodeJS.ErrnoException, contract: Contract): RequestError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return clientFaults.headersTooLarge(contract, error)
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return clientFaults.tooSlow(error)
  return clientFaults.malformed(error)
}

/** The errors of requests that only the HTTP server finds, before a request has a route. */
export const clientFaults = {
  /** The request is not valid HTTP, or a proxy may have read it differently: 400. */
  malformed(cause?: unknown): RequestError {
    return ownError('malformed_request', malformedRequest, { cause })
  },
  /** The request did not arrive in time: 408. */
  tooSlow(cause?: unknown): RequestError {
    return new RequestError('request_timeout', 'The request did not arrive in time.', { status: 408, cause })
  },
  /** The header section of the request is too long: 431. */
  headersTooLarge({ limits }: Pick<Contract, 'limits'>, cause?: unknown): RequestError {
    const message = `The header section is longer than ${limits.header} bytes.`
    return new RequestError('headers_too_large', message, { status: 431, cause })
  },
}
