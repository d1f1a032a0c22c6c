// The log of requests. Each has one line: method, route, status, durations and the caller. Headers and the
// URL are not logged, because either may contain a credential. Its other lines have the request id, too, and
// all have the id of the client's trace.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Contract, createRequestIdCheck } from 'contract-engine'
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { containsApiKey } from '../auth/api-key.js'
import { namesOf } from '../auth/client.js'
import { clientAddress } from '../lib/address.js'
import { canWriteInfo, isInfoLogged, isPlain, writeInfo } from '../lib/log-line.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that monitoring polls: its requests are logged at debug. */
    isProbe?: true
  }
}

/** Fastify's log controller, with one line for each request instead of two. */
export class RequestLog extends LogController {
  /** @param isAddressLogged true if the lines have the client's address */
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
    const { log } = request
    const isOwn = !error && log instanceof RequestLogger
    if (isOwn && (!log.isInfoLogged || this.#logUsual(log, request, reply))) return
    const line = this.#lineOf(request, reply, reply.statusCode)
    if (error) log.warn({ ...line, err: error }, 'response failed')
    else if (request.matched?.config.isProbe && reply.statusCode < 400) log.debug(line, 'request')
    else log.info(line, 'request')
  }

  // The engine logs errors of streams. A stream ends prematurely whenever its client leaves.
  override streamError(): void {}

  /** Logs a request whose connection closed before the whole response was sent. */
  requestEnded(request: FastifyRequest, reply: FastifyReply, isAborted: boolean): void {
    if (!isAborted) return
    const status = request.lifetime?.isStream ? reply.statusCode : undefined
    request.log.info(this.#lineOf(request, reply, status), 'request aborted')
  }

  // Fast path for most requests, those of a route with an API key: writes the same line as `#lineOf`.
  #logUsual(log: RequestLogger, request: FastifyRequest, { statusCode, elapsedTime }: FastifyReply): boolean {
    const { method, matched, client, reason, lifetime } = request
    const keyId = client?.keyId
    const isUsual =
      matched !== undefined && keyId !== undefined && reason === undefined && lifetime?.isStream === false
    if (!isUsual || matched.config.isProbe || this.isAddressLogged) return false
    const route = matched.url ?? ''
    if (!isPlain(route) || !isPlain(keyId)) return false
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

/**
 * Returns a function that gives a request its id: the client's, if it fits the contract's pattern and
 * contains no API key (log lines must not contain any), otherwise a new one.
 */
export function createRequestId(contract: Contract): (request: IncomingMessage) => string {
  const isValid = createRequestIdCheck(contract)
  return ({ headers }) => {
    const given = headers['x-request-id']
    return typeof given === 'string' && isValid(given) && !containsApiKey(given) ? given : randomUUID()
  }
}

// W3C Trace Context, section 3.2: later versions may append fields, and an id of zeros is invalid.
const traceparent = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Makes the logger of a request. Fastify calls it for each request. */
export function createRequestLogger(
  log: FastifyBaseLogger,
  bindings: Readonly<Record<string, unknown>>,
  options: object,
  { headers }: IncomingMessage,
): FastifyBaseLogger {
  if (headers.traceparent === undefined) return new RequestLogger(log, bindings, options)
  const [, traceId] = traceparent.exec(String(headers.traceparent)) ?? []
  return new RequestLogger(log, traceId === undefined ? bindings : { ...bindings, traceId }, options)
}

type Line = Parameters<FastifyBaseLogger['info']>

/** The logger of a request. Most requests log only their own line, so pino's logger is made on first use. */
export class RequestLogger implements FastifyBaseLogger {
  #made: FastifyBaseLogger | undefined

  constructor(
    readonly parent: FastifyBaseLogger,
    readonly bindings: Readonly<Record<string, unknown>>,
    readonly options: object,
  ) {}

  get #log(): FastifyBaseLogger {
    this.#made ??= this.parent.child(this.bindings, this.options)
    return this.#made
  }

  /** True if lines of the level info are logged. */
  get isInfoLogged(): boolean {
    return isInfoLogged(this.parent)
  }

  /**
   * Writes the line that `info` would write, from fields that are JSON text, each after a comma. Adds the
   * request's id and trace. Returns false, and writes nothing, if it cannot.
   */
  infoOfJson(fields: string, message: string): boolean {
    if (!canWriteInfo(this.parent)) return false
    let all = ''
    for (const name in this.bindings) {
      const value = this.bindings[name]
      if (typeof value !== 'string' || !isPlain(value)) return false
      all += `,"${name}":"${value}"`
    }
    writeInfo(this.parent, all + fields, message)
    return true
  }

  get level(): string {
    return this.#log.level
  }

  child(bindings: object, options: object = this.options): FastifyBaseLogger {
    return new RequestLogger(this.parent, { ...this.bindings, ...bindings }, options)
  }

  fatal(...line: Line): void {
    this.#log.fatal(...line)
  }

  error(...line: Line): void {
    this.#log.error(...line)
  }

  warn(...line: Line): void {
    this.#log.warn(...line)
  }

  info(...line: Line): void {
    this.#log.info(...line)
  }

  debug(...line: Line): void {
    this.#log.debug(...line)
  }

  trace(...line: Line): void {
    this.#log.trace(...line)
  }

  silent(...line: Line): void {
    this.#log.silent(...line)
  }
}
