// More requests than the service can answer in time. What comes beyond that is refused before anything is spent on it, so that what
// was admitted is answered in time.

/** Thrown where a request is refused for overload: one for all, for a stack of each would tell nothing and cost a twentieth of a refusal. */
export const overload = new Error('WORK_MAX requests are in flight')

/** Bounds how many handlers run at the same time, and look-ups of the keys of those to come. */
export class LoadShedder {
  #inFlight = 0
  #refused = 0

  /** @param max of both at the same time; a request that is still arriving has none, so slow clients take no place */
  constructor(readonly max: number) {}

  /** Those that are running. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Requests refused because `max` was reached. */
  get refused(): number {
    return this.#refused
  }

  /** Throws `overload` where one more could not run now: nothing need be done for its request. */
  check(): void {
    if (this.#inFlight < this.max) return
    this.#refused++
    throw overload
  }

  /**
   * Runs one in a place of its own, which is given back whatever becomes of its request meanwhile.
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
