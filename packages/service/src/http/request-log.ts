// One log line for each request: method, route, status, durations and the caller. Headers and the URL are not
// logged, because either may contain a credential.

import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { namesOf } from '../auth/client.js'
import { clientAddress } from '../lib/address.js'
import { isPlain } from '../lib/log-line.js'
import { RequestLogger } from './request-logger.js'

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
    if (!error && this.#logUsual(request, reply)) return
    const line = this.#lineOf(request, reply, reply.statusCode)
    if (error) request.log.warn({ ...line, err: error }, 'response failed')
    else if (request.matched?.config.isProbe && reply.statusCode < 400) request.log.debug(line, 'request')
    else request.log.info(line, 'request')
  }

  // The engine logs what fails a stream. It ends prematurely whenever its client leaves.
  override streamError(): void {}

  /** Logs a request whose connection closed before its response was sent, or all of it. */
  requestEnded(request: FastifyRequest, reply: FastifyReply, isAborted: boolean): void {
    if (!isAborted) return
    const status = request.lifetime?.isStream ? reply.statusCode : undefined
    request.log.info(this.#lineOf(request, reply, status), 'request aborted')
  }

  // The same line as below, of what most requests are: one of a route, with an API key.
  #logUsual(request: FastifyRequest, { statusCode, elapsedTime }: FastifyReply): boolean {
    const { log, method, matched, client, reason, lifetime } = request
    const keyId = client?.keyId
    const isUsual =
      matched !== undefined && keyId !== undefined && reason === undefined && lifetime?.isStream === false
    if (!isUsual || matched.config.isProbe || this.isAddressLogged) return false
    const route = matched.url ?? ''
    if (!(log instanceof RequestLogger) || !isPlain(route) || !isPlain(keyId)) return false
    const [ms, serviceMs] = [toMicroseconds(elapsedTime), toMicroseconds(lifetime.serviceMs)]
    const times = `"ms":${ms},"serviceMs":${serviceMs}`
    const fields = `,"method":"${method}","route":"${route}","status":${statusCode},${times},"keyId":"${keyId}"`
    return log.infoOfJson(fields, 'request')
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
