// More requests than the service can answer in time. What comes beyond that is refused before anything is spent on it, so that what
// was admitted is answered in time.

/** Thrown where a request is refused for overload: one for all, for a stack of each would tell nothing and cost a twentieth of a refusal. */
export const overload = new Error('WORK_MAX requests are in flight')

/** Bounds the work at the same time: handlers that run, and look-ups of keys. */
export class LoadShedder {
  #inFlight = 0
  #refused = 0

  /** @param max handlers and look-ups at the same time; a request that is still arriving has neither, so slow clients take no place */
  constructor(readonly max: number) {}

  /** Handlers and look-ups that are running. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Requests refused because `max` was reached. */
  get refused(): number {
    return this.#refused
  }

  /** Throws `overload` where no more work could begin now: nothing need be done for its request. */
  check(): void {
    if (this.#inFlight < this.max) return
    this.#refused++
    throw overload
  }

  /**
   * Runs a handler or a look-up in a place of its own, which is given back whatever becomes of its request meanwhile.
   * @throws `overload` where others have come before it
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
