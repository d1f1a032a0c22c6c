// Errors below Fastify: malformed HTTP, headers that are too large, requests that are too slow. The response,
// with the usual error body, is written to the socket.

import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { readAddress } from '../lib/address.js'
import { afterReading } from '../lib/after-reading.js'
import { type Contract, errorBody, type RequestError } from '../openapi/index.js'
import { lingeringClose, requestOn, responseOn } from './connections.js'
import { headersTooLarge, malformed, tooSlow } from './faults.js'
import type { Lifetimes } from './lifetime.js'

export interface ClientErrorParts {
  readonly contract: Contract
  readonly log: Logger
  readonly lifetimes: Lifetimes
  readonly config: Pick<Config, 'isAddressLogged'>
  readonly headers: Readonly<Record<string, string>>
}

/** Creates the handler of Node's `clientError` event. */
export function createClientErrorHandler(
  parts: ClientErrorParts,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') refuse(socket, error, parts)
    else
      afterReading(() => {
        // Node checks its timers before it reads what arrived while the process was busy.
        if (requestOn(socket) === undefined) refuse(socket, error, parts)
      })
  }
}

function refuse(socket: Socket, error: NodeJS.ErrnoException, parts: ClientErrorParts): void {
  // Writing into a response that has started would corrupt it.
  const hasResponse = !socket.writable || responseOn(socket)?.headersSent
  if (hasResponse || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const fault = clientFault(error, parts.contract)
  // If the headers have arrived, Fastify has the request: its response has headers and a log line.
  const incomplete = parts.lifetimes.incompleteOn(socket)
  if (incomplete === undefined) respond(socket, fault, error.code, parts)
  else incomplete.fail(fault)
}

function respond(
  socket: Socket,
  fault: RequestError,
  reason: string | undefined,
  { contract, log, config, headers }: ClientErrorParts,
): void {
  const requestId = randomUUID()
  const body = errorBody(fault, contract)
  const address = config.isAddressLogged ? readAddress(socket.remoteAddress) : undefined
  log.info({ requestId, status: body.status, address, reason }, 'request refused')
  const common = { ...headers, 'X-Request-Id': requestId }
  lingeringClose(socket, lastResponse(common, body, contract))
}

function lastResponse(
  common: Readonly<Record<string, string>>,
  body: ReturnType<typeof errorBody>,
  { errorType }: Contract,
): string {
  const payload = JSON.stringify(body)
  const headers = {
    ...common,
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
