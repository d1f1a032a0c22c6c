// One log line for each request: method, route, status, durations and the caller. Headers and the URL are not
// logged, because either may contain a credential.

import type { IncomingMessage } from 'node:http'
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { namesOf } from '../auth/client.js'
import { clientAddress } from '../lib/address.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that monitoring polls: its requests are logged at debug. */
    isProbe?: true
  }
}

/** Fastify's log controller, with one line for each request instead of two. */
export class RequestLog extends LogController {
  /** @param isAddressLogged whether the lines have the client's address */
  constructor(readonly isAddressLogged: boolean) {
    super({ requestIdLogLabel: 'requestId' })
  }

  override incomingRequest(): void {}

  override routeNotFound(): void {}

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const line = this.#lineOf(request, reply, reply.statusCode)
    if (error) request.log.warn({ ...line, err: error }, 'response failed')
    else if (request.matched?.config.isProbe && reply.statusCode < 400) request.log.debug(line, 'request')
    else request.log.info(line, 'request')
  }

  // The engine logs what fails a stream. It ends prematurely whenever its client leaves.
  override streamError(): void {}

  /** Logs a request whose connection closed before its response was sent, or all of it. */
  requestAborted(request: FastifyRequest, reply: FastifyReply): void {
    const status = request.lifetime?.isStream ? reply.statusCode : undefined
    request.log.info(this.#lineOf(request, reply, status), 'request aborted')
  }

  #lineOf(request: FastifyRequest, { elapsedTime }: FastifyReply, status?: number): object {
    const { method, matched, client, reason, lifetime } = request
    const [ms, serviceMs] = [toMicroseconds(elapsedTime), toMicroseconds(lifetime?.serviceMs ?? elapsedTime)]
    const address = this.isAddressLogged ? clientAddress(request) : undefined
    const { streamedBytes: bytes } = lifetime ?? {}
    return { method, route: matched?.url, status, ms, serviceMs, bytes, ...namesOf(client), address, reason }
  }
}

// Rounded to whole microseconds.
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

// W3C Trace Context, section 3.2: later versions may append fields, and an id of zeros is invalid.
const traceparent = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Creates the logger of a request: its lines have the request id, and the id of the client's trace. */
export function createRequestLogger(
  log: FastifyBaseLogger,
  bindings: object,
  options: object,
  { headers }: IncomingMessage,
): FastifyBaseLogger {
  const [, traceId] = traceparent.exec(String(headers.traceparent)) ?? []
  return log.child(traceId === undefined ? bindings : { ...bindings, traceId }, options)
}
