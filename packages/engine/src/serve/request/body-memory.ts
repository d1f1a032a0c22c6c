// What the bodies of all requests in flight may hold together. Without this bound, a few callers of an
// operation with large bodies could fill the memory of the process. A body is counted by what is allocated
// for it, not by the length that it declares: who declares much and sends little keeps nobody out.

import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { RequestError } from '../../document/request-error.js'
import { type BodyInHand, bodyInHand, responseTo } from './request-parts.js'

/** A body up to this size is not counted: a connection takes as much anyway, and most bodies are smaller. */
export const uncountedBytes = 16_384
// A body up to this size may use the share of the memory that larger bodies may not.
const smallBytes = 65_536
const shareOfLarge = 0.75

/** The memory of bodies, in bytes. */
export class BodyMemory {
  #held = 0
  #refused = 0

  /** @param refusal the error of a body for which there is no memory; by default the engine's own */
  constructor(
    readonly max = Number.POSITIVE_INFINITY,
    readonly refusal: RequestError = new RequestError('unavailable', 'Too many bodies at once.', {
      status: 503,
    }),
  ) {}

  /** How many bytes all bodies hold now. */
  get held(): number {
    return this.#held
  }

  /** The number of bodies refused because there was no room. */
  get refused(): number {
    return this.#refused
  }

  /** The size of the largest body that could be held if it were the only one. */
  get largest(): number {
    return Math.floor(this.max * shareOfLarge)
  }

  /**
   * True if a body may hold this many more bytes.
   * @param size the size of the whole body
   */
  hasRoom(bytes: number, size: number): boolean {
    const max = size > smallBytes ? this.largest : this.max
    return this.#held + bytes <= max
  }

  /** Counts a body for which there was no memory, and returns its error. */
  refuse(): RequestError {
    this.#refused++
    return this.refusal
  }

  /** Changes how much is held. Only `HeldBytes` calls this. */
  change(bytes: number): void {
    this.#held += bytes
  }
}

/** The memory that one body holds. Whoever has the body in hand gives it back, once: see `handing`. */
export class HeldBytes {
  #bytes = 0
  #isOver = false

  constructor(readonly memory: BodyMemory) {}

  /**
   * Sets how many bytes are held in all. Returns false, and changes nothing, if there is no memory for them.
   */
  grow(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (this.#isOver || !this.memory.hasRoom(more, bytes)) return false
    this.memory.change(more)
    this.#bytes = bytes
    return true
  }

  /** Gives all memory back. */
  release(): void {
    this.#isOver = true
    this.memory.change(-this.#bytes)
    this.#bytes = 0
  }
}

/**
 * Puts a body in hand while it is read: it is released when the response closes, unless a handler has begun.
 * A handler may still run after its client has gone.
 */
export function putInHand(request: FastifyRequest, body: BodyInHand): void {
  const response = request[responseTo]
  request[bodyInHand] = body
  // The response may already be over, such as that of a request which timed out while its body still arrives.
  if (response?.closed) body.release()
  else
    response?.once('close', () => {
      if (request[bodyInHand] === body) body.release()
    })
}

type Respond<Args extends readonly unknown[], Response> = (
  request: FastifyRequest,
  ...others: Args
) => Promise<Response>

/**
 * Wraps `respond` so that the request's body is released when `respond` has settled, or when the stream that
 * it responds with is closed.
 */
export function handing<Args extends readonly unknown[], Response extends { readonly body: unknown }>(
  respond: Respond<Args, Response>,
): Respond<Args, Response> {
  return (request, ...others) => {
    const body = request[bodyInHand]
    if (body === undefined) return respond(request, ...others)
    request[bodyInHand] = undefined
    return inHand(body, () => respond(request, ...others))
  }
}

async function inHand<Response extends { readonly body: unknown }>(
  body: BodyInHand,
  respond: () => Promise<Response>,
): Promise<Response> {
  let streamed: Readable | undefined
  try {
    const response = await respond()
    // The response's stream may read the request's stream.
    if (response.body instanceof Readable && !response.body.closed) streamed = response.body
    return response
  } finally {
    if (streamed === undefined) body.release()
    else streamed.once('close', () => body.release())
  }
}
