// Tries something now and then, such as whether a new connection could be opened while those that are open
// serve: a name, a certificate or a password that has ended would else show when the last of them closes.

export interface TrialTimes {
  /** Between the end of an attempt and the next. */
  readonly everyMs: number
  /** The same, after one that failed. */
  readonly againMs: number
}

const usualTimes: TrialTimes = { everyMs: 60_000, againMs: 15_000 }

export class Trial {
  /** Why the last attempt failed; undefined if it did not, or none was made. */
  error: Error | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  /**
   * @param attempt ends by itself, and leaves nothing open
   * @param onchange called when attempts begin to fail, and when one succeeds again
   */
  constructor(
    readonly attempt: () => Promise<unknown>,
    readonly onchange: (error: Error | undefined) => void = () => {},
    readonly times = usualTimes,
  ) {
    this.#schedule()
  }

  /** Makes no further attempt. Resolves when the last one has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#running
  }

  #schedule(): void {
    if (this.#isStopped) return
    const { everyMs, againMs } = this.times
    const start = () => {
      this.#running = this.#run()
    }
    this.#timer = setTimeout(start, this.error === undefined ? everyMs : againMs).unref()
  }

  async #run(): Promise<void> {
    const before = this.error
    this.error = await this.attempt().then(
      () => undefined,
      (error: Error) => error,
    )
    if ((before === undefined) !== (this.error === undefined)) this.onchange(this.error)
    this.#schedule()
  }
}
