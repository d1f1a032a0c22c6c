// Tracks each request from its head until it has its response, times out, or its connection closes. Without
// it, a caller would wait as long as the database hangs, and its statement would run after its 503. Node's
// requestTimeout is not checked while the server closes. Fastify's handlerTimeout aborts an AbortController
// for every request, which costs as much as the rest of the routing; its onResponse hook, like Node's
// `finish`, does not run when the connection was reset.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { clientFaults, type Operation, type RequestError, uploadOf } from 'contract-engine'
import { bodyLength } from 'contract-engine/lib/field-values'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preParsingHookHandler,
  RouteOptions,
} from 'fastify'
import type { Signal } from '../database/driver/sql.js'
import { afterReading } from '../lib/clock.js'
import { unavailable } from '../middleware/unavailable.js'
import type { Streams } from './streams.js'
import { type Upload, UploadPace } from './upload-pace.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined before the onRequest hooks. */
    lifetime: Lifetime | undefined
  }
}

export interface Timeouts {
  /**
   * From the arrival of a head to that of the whole request. For a body that streams, see `upload-pace.ts`.
   */
  readonly requestTimeoutMs: number
  /** From the arrival of a whole request to its response. */
  readonly handlerTimeoutMs: number
  /** The minimum rate of a body that streams, in bytes per second. */
  readonly uploadRateMin: number
  /** The time of one statement. A request with less time left sends no more statements. */
  readonly statementTimeoutMs: number
  /** True if transactions must set `statementTimeoutMs`, because it is shorter than the session's timeout. */
  readonly isShort?: boolean
}

/** The timeouts of all requests. */
export interface TimeoutsByOperation {
  readonly usual: Timeouts
  /** The timeouts of operations that set their own. */
  readonly own?: ReadonlyMap<Operation | undefined, Timeouts>
}

/** Called when the response to a request is sent, or its connection has closed before (`isAborted`). */
export type OnEnd = (request: FastifyRequest, reply: FastifyReply, isAborted: boolean) => void

// Added to the statement timeout, which PostgreSQL starts when the statement arrives.
const margin = 0.25
// The window for measuring the rate of a body: mobile networks pause for seconds.
const rateWindowMs = 10_000

/** The lifetime of one request. As a signal, it is aborted when no more statements should be sent for it. */
export class Lifetime implements Signal {
  #timer: NodeJS.Timeout | undefined
  #pace: UploadPace | undefined
  #hasArrived = false
  #lastStartMs = Number.POSITIVE_INFINITY
  #hasFailed = false
  #isLast = false
  #controller: AbortController | undefined
  /** The time since which the service waits for its peer, and how long it has waited before. */
  #waitsSince: number | undefined
  #waitedMs = 0
  /** The bytes that its connection had sent before a response whose body is a stream. */
  #bytesBefore = 0
  /** True once a response whose body is a stream has begun. */
  isStream = false
  /** The time of the service, without its waits for the peer. Known once the lifetime has ended. */
  serviceMs = 0
  /** The bytes sent of a response whose body is a stream. Known once the lifetime has ended. */
  streamedBytes: number | undefined

  constructor(
    readonly reply: FastifyReply,
    readonly timeouts: Timeouts, // those of its operation
    readonly onTimeout: (lifetime: Lifetime) => void,
  ) {
    if (hasArrived(reply.request.raw)) this.arrive()
    else this.#timer = setTimeout(onTimeout, timeouts.requestTimeoutMs, this).unref()
  }

  /** True once the whole request has arrived. From then on, its handler has a time limit. */
  get hasArrived(): boolean {
    return this.#hasArrived
  }

  /** Makes its response the last of its connection. */
  makeLast(): void {
    this.#isLast = true
  }

  /**
   * True if its response is the last of its connection. That includes the response to a request that has not
   * arrived completely: the server does not read its rest, so it cannot find the next request.
   */
  get isLast(): boolean {
    return this.#isLast || !hasArrived(this.reply.request.raw)
  }

  /** Notes that the whole request has arrived. */
  arrive(): void {
    if (this.#hasArrived) return
    this.#hasArrived = true
    this.#pace?.stop()
    this.#endWait()
    if (this.isStream) return // its response began before its body had arrived
    const { handlerTimeoutMs, statementTimeoutMs } = this.timeouts
    this.#lastStartMs = performance.now() + handlerTimeoutMs - statementTimeoutMs * (1 + margin)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.onTimeout, handlerTimeoutMs, this).unref()
  }

  /** Watches a body that streams. Its handler begins before the whole request has arrived. */
  receive(upload: Upload): void {
    clearTimeout(this.#timer)
    const { requestTimeoutMs, handlerTimeoutMs, uploadRateMin: rateMin } = this.timeouts
    const windowMs = Math.min(rateWindowMs, requestTimeoutMs)
    this.#pace = new UploadPace(
      upload,
      { rateMin, windowMs, handlerTimeoutMs },
      {
        tooSlow: () => {
          upload.fail(clientFaults.tooSlow())
          this.fail(clientFaults.tooSlow())
        },
        tooLate: () => this.fail(timeoutError(this.timeouts)),
      },
    )
    // With this listener, Node does not end the silent connection of a request that has not arrived.
    this.reply.request.raw.on('timeout', () => this.#endSilence())
    if (upload.hasArrived) this.arrive()
    else upload.once('arrived', () => this.arrive())
  }

  // After the head of a response, a silent client is one that does not read (streams.ts has its own check).
  #endSilence(): void {
    if (this.isStream) return
    if (this.reply.raw.headersSent) this.#socket.destroy()
    else this.#pace?.endSilence()
  }

  /** Notes that a response begins whose body is a stream. It has no time limit. */
  beginStream(): void {
    clearTimeout(this.#timer)
    this.#lastStartMs = Number.POSITIVE_INFINITY
    this.#bytesBefore = this.#socket.bytesWritten
    this.isStream = true
  }

  /** The status of the response, if it was sent, or if a stream has begun. */
  get status(): number | undefined {
    const { sent, statusCode } = this.reply
    return sent || this.isStream ? statusCode : undefined
  }

  get #socket(): Socket {
    return this.reply.request.raw.socket
  }

  /** Notes that the service waits until its peer has sent the body, or has read the response. */
  beginWait(): void {
    this.#waitsSince ??= performance.now()
  }

  #endWait(): void {
    if (this.#waitsSince === undefined) return
    this.#waitedMs += performance.now() - this.#waitsSince
    this.#waitsSince = undefined
  }

  /** True if the response is sent, or the peer has disconnected. */
  get isOver(): boolean {
    return this.#hasFailed || this.reply.sent || this.#socket.destroyed
  }

  get aborted(): boolean {
    return this.isOver || performance.now() > this.#lastStartMs
  }

  /** The signal for the statements of a response that may be a stream. */
  get ofStream(): Signal {
    return new StreamSignal(this)
  }

  get statementTimeoutMs(): number | undefined {
    return this.timeouts.isShort ? this.timeouts.statementTimeoutMs : undefined
  }

  /**
   * The time for which a transaction may wait for a body that streams, as long as its pace (`upload-pace.ts`)
   * allows. With the limit of other requests, a pause of 2 s would undo an import.
   */
  get idleTimeoutMs(): number | undefined {
    const { requestTimeoutMs, handlerTimeoutMs } = this.timeouts
    return this.#pace && !this.#hasArrived ? requestTimeoutMs + handlerTimeoutMs : undefined
  }

  /** An AbortSignal for the handler. A getter, because few handlers need it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.isOver) this.#controller.abort()
    return this.#controller.signal
  }

  /** True if `signal` was read: an error after the end of the request may then come from the abort. */
  get hasSignal(): boolean {
    return this.#controller !== undefined
  }

  /** Responds with an error; the result of the handler is discarded. */
  fail(error: RequestError): void {
    if (this.isOver) return
    this.#hasFailed = true
    // Once its headers are sent, a response cannot become an error.
    if (this.reply.raw.headersSent) this.reply.raw.destroy()
    else void this.reply.send(error)
    this.#controller?.abort()
  }

  /** Aborts the signal early, for a stream that the server ends. */
  abort(): void {
    this.#controller?.abort()
  }

  /** Clears the timer, aborts the signal, and determines `serviceMs` and `streamedBytes`. */
  end(): void {
    clearTimeout(this.#timer)
    this.#pace?.stop()
    this.#controller?.abort()
    this.#endWait()
    // Not negative, although the clock is read for the response before it is read for the last wait.
    this.serviceMs = Math.max(0, this.reply.elapsedTime - this.#waitedMs)
    if (this.isStream) this.streamedBytes = this.#socket.bytesWritten - this.#bytesBefore
  }
}

/**
 * The signal of a stream. Streams have no time limit, so this limits how long each statement waits for a
 * connection: to the time of a handler.
 */
class StreamSignal implements Signal {
  constructor(readonly lifetime: Lifetime) {}

  get aborted(): boolean {
    return this.lifetime.aborted
  }

  get statementTimeoutMs(): number | undefined {
    return this.lifetime.statementTimeoutMs
  }

  get waitMs(): number {
    return this.lifetime.timeouts.handlerTimeoutMs
  }
}

/** The requests in flight, at most one for each connection. */
export class Lifetimes {
  readonly #bySocket = new WeakMap<Socket, Lifetime | undefined>()
  readonly #onEnd: OnEnd[] = []
  #isClosing = false

  constructor(
    readonly timeouts: TimeoutsByOperation,
    readonly streams: Streams,
  ) {}

  /** True if the server closes. Each response is then the last of its connection. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Notes that the server closes. */
  close(): void {
    this.#isClosing = true
  }

  /**
   * Adds the hooks that track every request. A request that does not arrive in time gets 408; one whose
   * response is late gets 503.
   *
   * Each request begins in the next iteration of the event loop. Node emits a request before it has read the
   * rest of the packet: an early response would close the connection of a request that has arrived
   * completely, or precede a second response for a malformed body. Also, libuv reads on while more than a
   * thousand sockets are readable: peers that send again at once would keep it there for seconds. Requests
   * that begin together also share statements (database/batch.ts).
   */
  add(app: FastifyInstance): void {
    app.decorateRequest('lifetime', undefined)
    app.addHook('onRequest', (request, reply, done) =>
      afterReading(() => {
        request.lifetime = this.#begin(request, reply)
        done()
      }),
    )
    app.addHook('onRoute', waitForBodies)
    app.addHook('preValidation', (request, _reply, done) => {
      if (request.lifetime?.hasArrived === false) awaitBody(request, request.lifetime)
      done()
    })
    app.addHook('onSend', (request, reply, payload, done) => {
      if (this.#isClosing || request.lifetime?.isLast !== false) reply.header('Connection', 'close')
      request.lifetime?.beginWait()
      if (payload instanceof Readable && request.method !== 'HEAD') {
        request.lifetime?.beginStream()
        this.streams.begin(reply, payload)
      }
      done(null, payload)
    })
    app.addHook('onResponse', (request, reply, done) => {
      this.#bySocket.set(request.raw.socket, undefined)
      this.#end(request, reply, false)
      done()
    })
  }

  /** Adds a listener for the end of every request. */
  onEnd(listener: OnEnd): void {
    this.#onEnd.push(listener)
  }

  /** Returns the request that is still arriving on a connection, if its head has arrived. */
  incompleteOn(socket: Socket): Lifetime | undefined {
    const lifetime = this.#bySocket.get(socket)
    return lifetime?.reply.request.raw.complete ? undefined : lifetime
  }

  // Fastify builds `routeOptions` on each access. A contract without timeouts of its own never needs them.
  #begin(request: FastifyRequest, reply: FastifyReply): Lifetime {
    const { usual, own } = this.timeouts
    const timeouts = own?.get(request.routeOptions.config.operation) ?? usual
    const { socket } = request.raw
    const lifetime = new Lifetime(reply, timeouts, this.#onTimeout)
    // One listener for all requests of the connection.
    if (!this.#bySocket.has(socket)) socket.once('close', () => this.#abort(socket))
    this.#bySocket.set(socket, lifetime)
    return lifetime
  }

  // `afterReading`, because the rest of the request or the database's answer may have arrived without being
  // read yet.
  readonly #onTimeout = (late: Lifetime) => {
    const { hasArrived } = late
    afterReading(() => {
      if (hasArrived) late.fail(timeoutError(late.timeouts))
      else if (!late.reply.request.raw.complete) late.fail(clientFaults.tooSlow())
    })
  }

  #abort(socket: Socket): void {
    const lifetime = this.#bySocket.get(socket)
    this.#bySocket.delete(socket)
    if (lifetime !== undefined) this.#end(lifetime.reply.request, lifetime.reply, true)
  }

  #end(request: FastifyRequest, reply: FastifyReply, isAborted: boolean): void {
    request.lifetime?.end()
    for (const listener of this.#onEnd) listener(request, reply, isAborted)
  }
}

// Starts the wait for a body when its request is admitted. Only on routes that read bodies: elsewhere the
// hook would cost time for nothing.
function waitForBodies(route: RouteOptions): void {
  if ([route.method].flat().every((method) => method === 'GET' || method === 'HEAD')) return
  const wait: preParsingHookHandler = (request, _reply, payload, done) => {
    if (request.lifetime?.hasArrived === false) request.lifetime.beginWait()
    done(null, payload)
  }
  route.preParsing = [wait, ...[route.preParsing ?? []].flat()] as preParsingHookHandler[] // ours are such
}

// Called when the body has been read, or when a handler is about to read it as a stream.
function awaitBody(request: FastifyRequest, lifetime: Lifetime): void {
  const upload = uploadOf(request)
  if (upload === undefined) lifetime.arrive()
  else lifetime.receive(upload)
}

// True if the whole request has arrived.
function hasArrived({ complete, headers }: IncomingMessage): boolean {
  return complete || bodyLength(headers) === 0
}

function timeoutError({ handlerTimeoutMs }: Timeouts): RequestError {
  return unavailable(new Error(`no response within ${handlerTimeoutMs} ms`))
}
