// What the bodies of all requests in flight may hold together. Without this bound, a few callers of an
// operation with large bodies could fill the memory of the process. A body is counted by what is allocated
// for it, not by the length that it declares: who declares much and sends little keeps nobody out.

import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { RequestError } from '../../document/request-error.js'
import { type BodyInHand, bodyInHand, responseTo } from './request-parts.js'

/** Not counted: as much as a connection takes anyway, and most bodies are smaller. */
export const uncountedBytes = 16_384
// A body up to this size finds room that larger ones leave.
const smallBytes = 65_536
const shareOfLarge = 0.75

/** The memory of bodies, in bytes. */
export class BodyMemory {
  #held = 0
  #refused = 0

  /** @param refusal the error of a body that finds no room; without, that of the engine */
  constructor(
    readonly max = Number.POSITIVE_INFINITY,
    readonly refusal: RequestError = new RequestError('unavailable', 'Too many bodies at once.', {
      status: 503,
    }),
  ) {}

  /** What bodies hold now. */
  get held(): number {
    return this.#held
  }

  /** The number of bodies refused because there was no room. */
  get refused(): number {
    return this.#refused
  }

  /** The largest body that can be held, by itself. */
  get largest(): number {
    return Math.floor(this.max * shareOfLarge)
  }

  /**
   * Whether a body may take more.
   * @param size of the whole body
   */
  hasRoom(bytes: number, size: number): boolean {
    const max = size > smallBytes ? this.largest : this.max
    return this.#held + bytes <= max
  }

  /** The error of a body for which there was no room, which is counted. */
  refuse(): RequestError {
    this.#refused++
    return this.refusal
  }

  /** Changes what is held. Only what one body holds calls this. */
  change(bytes: number): void {
    this.#held += bytes
  }
}

/** What one body holds. It is given back once, by the one who has the body in hand: see `handing`. */
export class HeldBytes {
  #bytes = 0
  #isOver = false

  constructor(readonly memory: BodyMemory) {}

  /** Holds so many bytes in all. Returns false, and changes nothing, if there is no room. */
  grow(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (this.#isOver || !this.memory.hasRoom(more, bytes)) return false
    this.memory.change(more)
    this.#bytes = bytes
    return true
  }

  /** Gives all of it back. */
  release(): void {
    this.#isOver = true
    this.memory.change(-this.#bytes)
    this.#bytes = 0
  }
}

/**
 * Puts a body in hand that is being read: it is released with the response unless a handler begins, which may
 * run on when its client has gone.
 */
export function putInHand(request: FastifyRequest, body: BodyInHand): void {
  const response = request[responseTo]
  request[bodyInHand] = body
  // Such as that of a request which was refused as too late, and is still arriving.
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
 * Releases the body of a request once `respond` has settled, or the stream that it responds with is closed.
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
    // A stream may read the request's own.
    if (response.body instanceof Readable && !response.body.closed) streamed = response.body
    return response
  } finally {
    if (streamed === undefined) body.release()
    else streamed.once('close', () => body.release())
  }
}
