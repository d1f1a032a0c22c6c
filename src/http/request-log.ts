// One line per request: what was asked, what was answered, how long it took and by which key. Neither
// headers nor the URL as sent are logged: either may hold a key.

import type { IncomingMessage } from 'node:http'
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether it is asked again and again by what watches the service: the log tells of it at debug. */
    isProbe?: true
  }
}

/** Fastify's hooks into its log, with one line where its own would write two. */
export class RequestLog extends LogController {
  /** @param isAddressLogged whether the lines tell who asked, by address */
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
    if (error) request.log.warn({ ...line, err: error }, 'request broken off')
    else if (request.matched?.config.isProbe && reply.statusCode < 400) request.log.debug(line, 'request')
    else request.log.info(line, 'request')
  }

  /** Tells of a request whose connection was gone before its answer was. */
  requestAborted(request: FastifyRequest, reply: FastifyReply): void {
    request.log.info(this.#lineOf(request, reply), 'request aborted')
  }

  #lineOf(request: FastifyRequest, { elapsedTime }: FastifyReply, status?: number): object {
    const { method, matched, client, reason } = request
    const ms = Math.round(elapsedTime * 1000) / 1000
    const address = this.isAddressLogged ? request.ip : undefined
    return { method, route: matched?.url, status, ms, keyId: client?.keyId, address, reason }
  }
}

// W3C Trace Context, section 3.2: a later version may say more, and an id of zeros is none.
const traceparent = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** The log of one request: each line has its id, and that of the trace which its caller says it is a part of. */
export function createRequestLogger(
  log: FastifyBaseLogger,
  bindings: object,
  options: object,
  { headers }: IncomingMessage,
): FastifyBaseLogger {
  const [, traceId] = traceparent.exec(String(headers.traceparent)) ?? []
  return log.child(traceId === undefined ? bindings : { ...bindings, traceId }, options)
}
