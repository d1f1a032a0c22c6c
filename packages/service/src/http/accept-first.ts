// Callers first: while connections wait to be accepted, no request starts. libuv accepts one connection in
// each turn of the event loop (since 1.45, Node 20). If each turn also served what is ready, the last of 500
// callers who connect at once would wait for 500 turns of others; a turn that only accepts takes a tenth of a
// millisecond. All are taken from one queue of the kernel, so a close loses none (connections.ts).

import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { afterReading } from '../lib/clock.js'

/**
 * The most turns that only accept. Then one turn serves requests, so that a flood of connections cannot stop
 * them.
 */
export const acceptTurnsMax = 128

/**
 * Lets requests start once no connection waits to be accepted, or after `acceptTurnsMax` turns. Add it after
 * the lifetimes, which notice if the client of a waiting request leaves.
 */
export function acceptFirst(app: FastifyInstance): Arrivals {
  const arrivals = new Arrivals(app.server)
  app.addHook('onRequest', (_request, _reply, done) => arrivals.acceptBefore(done))
  return arrivals
}

/**
 * Called at the end of a burst of connections, accepted in turns without a pause. No caller in it has waited
 * longer than `ms`, from the first to the last connection, plus one turn of the event loop. Node does not
 * tell more.
 */
export type OnBurst = (ms: number) => void

/** Arriving connections, one in each turn, and the requests that wait for them. */
export class Arrivals {
  #isBurst = false
  #hasAccepted = false
  #turns = 0
  #beganMs = 0
  #lastMs = 0
  #waiting: (() => void)[] = []
  readonly #onBurst: OnBurst[] = []

  constructor(server: Server) {
    server.on('connection', () => this.#accepted())
    server.on('drop', () => this.#accepted()) // a connection over CONNECTIONS_MAX also takes a turn
  }

  /** Adds a listener for the end of every burst. */
  onBurst(listener: OnBurst): void {
    this.#onBurst.push(listener)
  }

  /** Calls back when a request may start: mostly at once. */
  acceptBefore(start: () => void): void {
    if (this.#isBurst) this.#waiting.push(start)
    else start()
  }

  #accepted(): void {
    this.#hasAccepted = true
    this.#lastMs = performance.now()
    if (this.#isBurst) return
    this.#isBurst = true
    this.#turns = 0
    this.#beganMs = this.#lastMs
    afterReading(() => this.#endTurn())
  }

  #endTurn(): void {
    const isBurst = this.#hasAccepted
    this.#hasAccepted = false
    this.#turns++
    if (!isBurst) this.#endBurst()
    if (!isBurst || this.#turns % acceptTurnsMax === 0) this.#release()
    if (isBurst) afterReading(() => this.#endTurn())
  }

  #endBurst(): void {
    this.#isBurst = false
    for (const listener of this.#onBurst) listener(this.#lastMs - this.#beganMs)
  }

  // Starts each request in a callback of its own, so that an error in one does not lose the others.
  #release(): void {
    for (const start of this.#waiting) afterReading(start)
    this.#waiting = []
  }
}
