// More than the service can work at. What comes beyond that is refused before any work is spent on it, so that what was
// admitted is answered in time.

/** Thrown where a request is not admitted. */
export class Overload extends Error {
  override name = 'Overload'
}

/** The requests of operations whose handlers are running. */
export class Admission {
  #count = 0
  #refused = 0

  /** @param max handlers that run at the same time; a request that is still arriving is none, so slow clients hold none */
  constructor(readonly max: number) {}

  get count(): number {
    return this.#count
  }

  /** Requests refused because `max` was reached. */
  get refused(): number {
    return this.#refused
  }

  /** Throws Overload where one more handler could not run now: nothing need be done for its request. */
  check(): void {
    if (this.#count < this.max) return
    this.#refused++
    throw new Overload('as many requests as WORK_MAX are worked at')
  }

  /**
   * Runs a handler, whatever becomes of its request meanwhile.
   * @throws {Overload} where others have come before it
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.check()
    this.#count++
    try {
      return await work()
    } finally {
      this.#count--
    }
  }
}
