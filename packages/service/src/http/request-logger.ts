// The logger of a request: its lines have the request id, and the id of the client's trace.

import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { canWriteInfo, isPlain, writeInfo } from '../lib/log-line.js'

// W3C Trace Context, section 3.2: later versions may append fields, and an id of zeros is invalid.
const traceparent = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** For Fastify, which calls it for each request. */
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

/** Most requests log nothing but their own line, so pino's logger is made when it is used. */
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

  /**
   * Writes the same line as `info` would, with the request's id and trace, of fields that are JSON, each
   * behind a comma. Returns false if it cannot, and nothing is written.
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
