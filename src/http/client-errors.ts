// Requests that never became one for Fastify: malformed HTTP, headers too large, too slow. They are answered
// on the socket itself, in the one error body.

import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import type { Contract } from '../contract/types.js'
import { type ApiError, errorBody, requestFault, toApiError } from '../errors.js'
import { afterResponses, responseHasStarted, lingeringClose, ifStillIncomplete } from './connections.js'
import { securityHeaders } from './headers.js'
import type { Lifetimes } from './lifetime.js'

/** Makes the handler of Node's `clientError` event. */
export function createClientErrorHandler(
  contract: Contract,
  log: Logger,
  lifetimes: Lifetimes,
  { isAddressLogged }: Pick<Config, 'isAddressLogged'>,
) {
  // What comes after the fault is a fault again, and told of once.
  const refused = new WeakSet<Socket>()
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (refused.has(socket)) return
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') ifStillIncomplete(socket, () => refuseOnce(socket, error))
    else refuseOnce(socket, error)
  }

  function refuseOnce(socket: Socket, error: NodeJS.ErrnoException): void {
    if (refused.has(socket)) return
    refused.add(socket)
    // Requests that came before it on the connection are under way: theirs are the first answers.
    afterResponses(socket, () => {
      // A second answer in the midst of one would garble both.
      if (!socket.writable || responseHasStarted(socket)) socket.destroy()
      else refuse(socket, error)
    })
  }

  function refuse(socket: Socket, error: NodeJS.ErrnoException): void {
    const fault = clientFault(error, contract)
    // Of a request whose headers have come, the answer is like any other: who asked, for what, and how often is known.
    const arriving = lifetimes.incompleteOn(socket)
    if (arriving !== undefined) {
      arriving.giveUp(fault)
      return
    }
    const requestId = randomUUID()
    const body = errorBody(fault, contract)
    const address = isAddressLogged ? socket.remoteAddress : undefined
    log.info({ requestId, status: body.status, address, reason: error.code }, 'request refused')
    // A request that is merely late would be done after all, if its rest were read.
    const how = body.code === 'request_timeout' ? 'deaf' : 'reading'
    lingeringClose(socket, lastAnswer(requestId, body, contract), how)
  }
}

/** Makes the handler of Node's `connect` event: this is no proxy, and Node would close the connection without a word. */
export function createConnectHandler(
  contract: Contract,
  log: Logger,
  { isAddressLogged }: Pick<Config, 'isAddressLogged'>,
) {
  return (_request: unknown, stream: Duplex): void => {
    const socket = stream as Socket // of an HTTP server, it is none other
    socket.on('error', () => socket.destroy()) // Node has let go of it
    const requestId = randomUUID()
    const body = errorBody(requestFault('malformed_request', contract), contract)
    const address = isAddressLogged ? socket.remoteAddress : undefined
    log.info({ requestId, status: body.status, address, reason: 'CONNECT' }, 'request refused')
    afterResponses(socket, () => lingeringClose(socket, lastAnswer(requestId, body, contract)))
  }
}

function lastAnswer(requestId: string, body: ReturnType<typeof errorBody>, { errorType }: Contract): string {
  const payload = JSON.stringify(body)
  const headers = {
    ...securityHeaders,
    'X-Request-Id': requestId,
    'Content-Type': `${errorType}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(payload),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}\r\n${lines.join('')}\r\n${payload}`
}

function clientFault(error: NodeJS.ErrnoException, contract: Contract): ApiError {
  const known = toApiError(error, contract)
  if (known.code !== 'internal_error') return known
  return requestFault('malformed_request', contract, error)
}
