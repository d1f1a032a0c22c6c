// Load shedding: refuses requests beyond a limit before any work is done for them, so that the admitted ones are served in time.

import type { Around } from '../openapi/index.js'

/** Thrown when a request is shed. One instance for all: a stack trace for each would be useless, and cost a twentieth of a refusal. */
export const overload = new Error('WORK_MAX requests are in flight')

/** Limits concurrent work: running handlers and look-ups of keys. */
export class LoadShedder {
  #inFlight = 0
  #refused = 0

  /** @param max concurrent handlers and look-ups. A request that is still arriving has neither, so slow clients take no slot. */
  constructor(readonly max: number) {}

  /** The handlers and look-ups that are running. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** The number of requests refused because `max` was reached. */
  get refused(): number {
    return this.#refused
  }

  /** Throws `overload` if no slot is free. */
  check(): void {
    if (this.#inFlight < this.max) return
    this.#refused++
    throw overload
  }

  /**
   * Runs a handler or a look-up in a slot, which is released when it settles, even if its request has ended before.
   * @throws `overload` if no slot is free
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.check()
    this.#inFlight++
    try {
      return await work()
    } finally {
      this.#inFlight--
    }
  }
}

/** Runs each handler in a slot of the shedder. */
export function shed<Resource>(loadShedder: LoadShedder): Around<Resource> {
  return (respond) => (request, reply, resource) => loadShedder.run(() => respond(request, reply, resource))
}
