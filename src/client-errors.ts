// Requests that never became one for Fastify: malformed HTTP, headers too large, too slow. They are answered
// on the socket itself, in the one error body.

import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Contract } from './contract/document.js'
import { type ApiError, errorBody, requestFault, toApiError } from './errors.js'
import { securityHeaders } from './security-headers.js'

/** Makes the handler of Node's `clientError` event. */
export function createClientErrorHandler(contract: Contract, log: Logger) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable || answerHasBegun(socket)) {
      socket.destroy()
      return
    }
    const requestId = randomUUID()
    const body = errorBody(clientFault(error, contract), contract)
    log.info({ requestId, status: body.status, reason: error.code }, 'request refused')
    const payload = JSON.stringify(body)
    const headers = {
      ...securityHeaders,
      'X-Request-Id': requestId,
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(payload),
      Connection: 'close',
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}\r\n${lines.join('')}\r\n${payload}`)
  }
}

function clientFault(error: NodeJS.ErrnoException, contract: Contract): ApiError {
  const known = toApiError(error, contract)
  if (known.code !== 'internal_error') return known
  return requestFault('malformed_request', contract, error)
}

// A second answer in the midst of one would garble both. Node keeps the message at work on the socket, under
// a name that its own default handler uses and its types leave out.
function answerHasBegun(socket: Socket): boolean {
  return (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true
}
