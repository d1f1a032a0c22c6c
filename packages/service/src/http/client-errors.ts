// Errors below Fastify: malformed HTTP, headers that are too large, requests that are too slow. The response,
// with an error body of the contract's form, is written to the socket.

import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type Contract, type ErrorBodyOf, errorResponses, type RequestError } from 'contract-engine'
import { lastResponse } from 'contract-engine/lib/last-response'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { readAddress } from '../lib/address.js'
import { afterReading } from '../lib/after-reading.js'
import { lingeringClose } from './connections.js'
import { headersTooLarge, malformed, tooSlow } from './faults.js'
import type { Lifetimes } from './lifetime.js'
import { requestOn, responseOn } from './pipelining.js'

export interface ClientErrorParts {
  readonly contract: Contract
  readonly log: Logger
  readonly lifetimes: Lifetimes
  readonly config: Pick<Config, 'isAddressLogged'>
  readonly headers: Readonly<Record<string, string>>
  readonly errorBody: ErrorBodyOf | undefined
}

interface Responding extends ClientErrorParts {
  readonly responseTo: ReturnType<typeof errorResponses>
  readonly server: Server
}

/** Creates the handler of Node's `clientError` event, as Fastify calls it. */
export function createClientErrorHandler(
  parts: ClientErrorParts,
): (this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket) => void {
  const responseTo = errorResponses(parts.contract, parts.errorBody)
  return function handle(error, socket) {
    const responding = { ...parts, responseTo, server: this.server }
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') refuse(socket, error, responding)
    else
      afterReading(() => {
        // Node checks its timers before it reads what arrived while the process was busy.
        if (requestOn(socket) === undefined) refuse(socket, error, responding)
      })
  }
}

function refuse(socket: Socket, error: NodeJS.ErrnoException, responding: Responding): void {
  // Writing into a response that has started would corrupt it.
  const hasResponse = !socket.writable || responseOn(socket)?.headersSent
  if (hasResponse || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const fault = clientFault(error, responding.contract)
  // If the headers have arrived, Fastify has the request: its response has headers and a log line.
  const incomplete = responding.lifetimes.incompleteOn(socket)
  if (incomplete === undefined) respond(socket, fault, error.code, responding)
  else incomplete.fail(fault)
}

function respond(
  socket: Socket,
  fault: RequestError,
  reason: string | undefined,
  { log, config, headers, responseTo, server }: Responding,
): void {
  const requestId = randomUUID()
  const response = responseTo(fault, { requestId, log, server })
  const address = config.isAddressLogged ? readAddress(socket.remoteAddress) : undefined
  log.info({ requestId, status: response.status, address, reason }, 'request refused')
  lingeringClose(socket, lastResponse({ ...headers, 'X-Request-Id': requestId }, response))
}

function clientFault(error: NodeJS.ErrnoException, contract: Contract): RequestError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(contract, error)
  return error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? tooSlow(error) : malformed(error)
}
