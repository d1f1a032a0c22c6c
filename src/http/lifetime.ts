// How long a request is in flight: until it is answered, its time is up, or its connection is gone. Fastify's own
// handlerTimeout makes an AbortController for every request and aborts it at the request's end, which costs as much as the rest
// of its routing; and its onResponse hook, like Node's `finish`, never comes for a connection that was reset.

import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../contract/types.js'
import type { Signal } from '../database/driver/sql.js'
import { type ApiError, requestFault, unavailable } from '../errors.js'
import { afterReading } from '../lib/after-reading.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where no hook has run. */
    lifetime: Lifetime | undefined
  }
}

export interface Timeouts {
  /** From a request's headers to its answer. */
  readonly handlerTimeoutMs: number
  /** Of a statement, which is not sent any more when little more is left. */
  readonly statementTimeoutMs: number
}

/** Called for a request whose connection is gone before its answer was. */
export type OnAborted = (request: FastifyRequest, reply: FastifyReply) => void

// Of a statement timeout: for the way to PostgreSQL, which counts from the statement's arrival, and back.
const margin = 0.25

/** Of one request. As a signal it says whether anything may still be begun for its sake. */
export class Lifetime implements Signal {
  readonly #timer: NodeJS.Timeout
  readonly #lastStartMs: number
  #isGivenUp = false

  constructor(
    readonly reply: FastifyReply,
    { handlerTimeoutMs, statementTimeoutMs }: Timeouts,
    onTimeout: (lifetime: Lifetime) => void,
  ) {
    this.#lastStartMs = performance.now() + handlerTimeoutMs - statementTimeoutMs * (1 + margin)
    this.#timer = setTimeout(onTimeout, handlerTimeoutMs, this).unref()
  }

  /** The caller has an answer, or cannot have one any more. */
  get isOver(): boolean {
    return this.#isGivenUp || this.reply.sent || this.reply.request.raw.socket.destroyed
  }

  get aborted(): boolean {
    return this.isOver || performance.now() > this.#lastStartMs
  }

  /** Answers with an error in the handler's place; what the handler comes to is dropped. */
  giveUp(error: ApiError): void {
    if (this.isOver) return
    this.#isGivenUp = true
    // An answer that has begun cannot become another.
    if (this.reply.raw.headersSent) this.reply.raw.destroy()
    else void this.reply.send(error)
  }

  /** No timer is left. */
  end(): void {
    clearTimeout(this.#timer)
  }
}

/** The requests that are not answered yet, by their connections. */
export class Lifetimes {
  readonly #bySocket = new WeakMap<Socket, Set<Lifetime>>()
  readonly #onAborted: OnAborted[] = []

  constructor(
    readonly timeouts: Timeouts,
    readonly contract: Contract,
  ) {}

  /**
   * Gives every request of the server a lifetime. Answers 503 to whatever has no answer in time, and 408 to what has not come
   * whole by then: it is the caller who is late.
   */
  add(app: FastifyInstance): void {
    app.decorateRequest('lifetime', undefined)
    app.addHook('onRequest', (request, reply, done) => {
      request.lifetime = this.#begin(request.raw.socket, reply)
      done()
    })
    app.addHook('onResponse', ({ raw, lifetime }, _reply, done) => {
      lifetime?.end()
      if (lifetime !== undefined) this.#bySocket.get(raw.socket)?.delete(lifetime)
      done()
    })
  }

  /** Tells of requests whose connection is gone before their answer was. */
  onAborted(listener: OnAborted): void {
    this.#onAborted.push(listener)
  }

  /** The request that is still arriving on a connection, if it has got as far as the hooks. */
  incompleteOn(socket: Socket): Lifetime | undefined {
    return [...(this.#bySocket.get(socket) ?? [])].find(({ reply }) => !reply.request.raw.complete)
  }

  #begin(socket: Socket, reply: FastifyReply): Lifetime {
    // In a busy process, what the database has answered may wait to be read: what is done is not to be told as 503.
    const giveUp = (late: Lifetime) => afterReading(() => late.giveUp(this.#lateness(late)))
    const lifetime = new Lifetime(reply, this.timeouts, giveUp)
    let inFlight = this.#bySocket.get(socket)
    if (inFlight === undefined) {
      inFlight = new Set()
      this.#bySocket.set(socket, inFlight)
      // The only event that comes for every request of the connection, queued behind others or not.
      socket.once('close', () => this.#abort(socket))
    }
    inFlight.add(lifetime)
    return lifetime
  }

  #abort(socket: Socket): void {
    const inFlight = this.#bySocket.get(socket) ?? []
    this.#bySocket.delete(socket)
    for (const lifetime of inFlight) {
      lifetime.end()
      for (const listener of this.#onAborted) listener(lifetime.reply.request, lifetime.reply)
    }
  }

  #lateness({ reply }: Lifetime): ApiError {
    const cause = new Error(`no answer within ${this.timeouts.handlerTimeoutMs} ms`)
    const { raw } = reply.request
    return raw.complete ? unavailable(cause) : requestFault('request_timeout', this.contract, cause)
  }
}
