// Errors below Fastify: malformed HTTP, headers that are too large, requests that are too slow. The response,
// with the usual error body, is written to the socket.

import { randomUUID } from 'node:crypto'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { readAddress } from '../lib/address.js'
import { type Contract, errorBody, type RequestError } from '../openapi/index.js'
import {
  afterResponses,
  closeAfter,
  ifStillIncomplete,
  lingeringClose,
  responseHasStarted,
} from './connections.js'
import { headersTooLarge, malformed, tooSlow } from './faults.js'
import { securityHeaders } from './headers.js'
import type { Lifetimes } from './lifetime.js'

/** The handlers of Node's `clientError` and `connect` events. */
export class ClientErrors {
  // Bytes after the first error cause more errors. Only the first gets a response.
  readonly #refused = new WeakSet<Socket>()

  constructor(
    readonly contract: Contract,
    readonly log: Logger,
    readonly lifetimes: Lifetimes,
    readonly config: Pick<Config, 'isAddressLogged'>,
  ) {}

  readonly clientError = (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (this.#refused.has(socket)) return
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
      ifStillIncomplete(socket, () => this.#refuseOnce(socket, error))
    else this.#refuseOnce(socket, error)
  }

  /** A CONNECT gets 400: this is no proxy. Node's default closes the connection without a response. */
  readonly connect = (request: IncomingMessage, stream: Duplex): void => {
    const socket = stream as Socket // always, on an HTTP server
    closeAfter(request) // Node has given the parser away
    socket.on('error', () => socket.destroy()) // Node has removed its own listener
    afterResponses(socket, () => this.#respond(socket, malformed(), 'CONNECT'))
  }

  #refuseOnce(socket: Socket, error: NodeJS.ErrnoException): void {
    if (this.#refused.has(socket)) return
    this.#refused.add(socket)
    // Earlier requests on the connection may still be running: their responses come first.
    afterResponses(socket, () => {
      // Writing into a response that has started would corrupt it.
      if (!socket.writable || responseHasStarted(socket)) socket.destroy()
      else this.#refuse(socket, error)
    })
  }

  #refuse(socket: Socket, error: NodeJS.ErrnoException): void {
    const fault = clientFault(error, this.contract)
    // If the headers have arrived, Fastify has the request: its response has headers and a log line.
    const incomplete = this.lifetimes.incompleteOn(socket)
    if (incomplete === undefined) this.#respond(socket, fault, error.code)
    else incomplete.fail(fault)
  }

  #respond(socket: Socket, fault: RequestError, reason: string | undefined): void {
    const requestId = randomUUID()
    const body = errorBody(fault, this.contract)
    const address = this.config.isAddressLogged ? readAddress(socket.remoteAddress) : undefined
    this.log.info({ requestId, status: body.status, address, reason }, 'request refused')
    // Node would run a request that timed out if the rest of it were read.
    const rest = body.code === 'request_timeout' ? 'unread' : 'discard'
    lingeringClose(socket, lastResponse(requestId, body, this.contract), rest)
  }
}

function lastResponse(
  requestId: string,
  body: ReturnType<typeof errorBody>,
  { errorType }: Contract,
): string {
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

function clientFault(error: NodeJS.ErrnoException, contract: Contract): RequestError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(contract, error)
  return error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? tooSlow(error) : malformed(error)
}
