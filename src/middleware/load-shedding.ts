// Load shedding: refuses requests beyond a limit before any work, so that the others are served in time.

import type { Around } from '../openapi/index.js'
import { unavailable } from './unavailable.js'

/** The 503 of a shed request. One for all: a stack trace for each would cost a twentieth of a refusal. */
export const overload = unavailable(new Error('WORK_MAX requests are in flight'))

/**
 * What takes a slot. Look-ups of unknown keys have as many slots of their own: a flood of guesses takes none
 * from clients whose keys are known.
 */
type Lane = 'work' | 'unknown keys'

/** Limits concurrent work: running handlers and look-ups of keys. */
export class LoadShedder {
  readonly #inFlight: Record<Lane, number> = { work: 0, 'unknown keys': 0 }
  #refused = 0

  /** @param max of each lane. A request that is still arriving is in none, so slow clients take no slot. */
  constructor(readonly max: number) {}

  /** The handlers and the look-ups of known keys that are running. */
  get inFlight(): number {
    return this.#inFlight.work
  }

  /** The number of requests refused because `max` was reached. */
  get refused(): number {
    return this.#refused
  }

  /**
   * Throws `overload` if no slot is free, before the request costs its client's quota, a look-up and a body.
   * `run` checks again: the slot may be taken by the time the body has arrived.
   */
  check(lane: Lane = 'work'): void {
    if (this.#inFlight[lane] < this.max) return
    this.#refused++
    throw overload
  }

  /**
   * Runs a handler or a look-up in a slot, released when it settles, even if its request has ended before.
   * @throws `overload` if no slot is free
   */
  async run<Result>(work: () => Promise<Result>, lane: Lane = 'work'): Promise<Result> {
    this.check(lane)
    this.#inFlight[lane]++
    try {
      return await work()
    } finally {
      this.#inFlight[lane]--
    }
  }
}

/** Runs each handler in a slot of the shedder. */
export function shed<Resource>(loadShedder: LoadShedder): Around<Resource> {
  return (respond) => (request, reply, resource) => loadShedder.run(() => respond(request, reply, resource))
}
