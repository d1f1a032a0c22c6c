// What is asked of the database at the same time, as one. The round trip of a small statement costs PostgreSQL and the
// driver more than its execution, and each that writes waits for the disk.

import { abandoned } from './driver/pool.js'
import type { Signal } from './driver/sql.js'
import type { Sql } from './types.js'
import { isUnavailable } from './unavailable.js'

/**
 * What one statement, or one transaction, does for all of several inputs: it gives an output for each, in their order, or fails having
 * done nothing.
 */
export type Batch<Place, Input, Output> = (
  place: Place,
  inputs: readonly Input[],
) => Promise<readonly Output[]>

/** How many inputs a batch takes, unless so many wait that its share of them is more, and how many batches are on their way at a time. */
export interface BatchLimits {
  readonly inputs: number
  readonly inFlightMax: number
}

// The busier the database, the more go at once, and a lone one need not wait: what comes while these are on their way gathers for
// the next.
const cheapInputs: BatchLimits = { inputs: 250, inFlightMax: 2 }

/** The same for one input, by one statement with the others of the same time. */
export function batched<Input, Output>(
  run: Batch<Sql, Input, Output>,
  limits = cheapInputs,
): (sql: Sql, input: Input) => Promise<Output> {
  const queues = new WeakMap<object, BatchQueue<Sql, Input, Output>>()
  return (given, input) => {
    const sql = given.share?.() ?? given
    // Who shares a pool shares its statements; a transaction's are its own.
    const key = sql.of?.pool ?? sql
    let queue = queues.get(key)
    if (queue === undefined) {
      queue = new BatchQueue(holdOf(sql), run, limits)
      queues.set(key, queue)
    }
    return queue.add(input, sql.of?.signal)
  }
}

/** Calls `run` with what statements are sent on. */
type Hold<Place> = (run: (place: Place) => Promise<void>) => Promise<void>

function holdOf(sql: Sql): Hold<Sql> {
  const pool = sql.of?.pool
  if (pool === undefined) return (run) => run(sql)
  return (run) => pool.hold(undefined, (held) => run(held.sqlUntil(undefined)))
}

interface Caller<Input, Output> {
  readonly input: Input
  readonly signal: Signal | undefined
  resolve(output: Output): void
  reject(error: unknown): void
}

/** Inputs that wait for a batch to take them. */
export class BatchQueue<Place, Input, Output> {
  #waiting: Caller<Input, Output>[] = []
  #inFlight = 0
  #isDue = false

  constructor(
    readonly hold: Hold<Place>,
    readonly run: Batch<Place, Input, Output>,
    readonly limits = cheapInputs,
  ) {}

  /** The output for an input. Rejects with STATEMENT_ABANDONED where `signal` is aborted before a batch takes it. */
  add(input: Input, signal: Signal | undefined): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, signal, resolve, reject })
      this.#sendSoon()
    })
  }

  #sendSoon(): void {
    if (this.#isDue || this.#inFlight === this.limits.inFlightMax || this.#waiting.length === 0) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      void this.#send()
    })
  }

  // Who is in it is decided when there is a connection to send it on: it is never sent for somebody who has gone by then.
  async #send(): Promise<void> {
    this.#inFlight++
    try {
      await this.hold((place) => this.#serveNext(place))
    } catch (error) {
      // There is no connection to be had.
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    } finally {
      this.#inFlight--
      this.#sendSoon()
    }
  }

  async #serveNext(place: Place): Promise<void> {
    const { inputs, inFlightMax } = this.limits
    const share = Math.ceil(this.#waiting.length / inFlightMax)
    const callers = stillWaiting(this.#waiting.splice(0, Math.max(inputs, share)))
    this.#sendSoon()
    await this.#serve(place, callers)
  }

  async #serve(place: Place, callers: readonly Caller<Input, Output>[]): Promise<void> {
    if (callers.length === 0) return
    try {
      const outputs = await this.run(
        place,
        callers.map(({ input }) => input),
      )
      for (const [i, { resolve }] of callers.entries()) resolve(outputs[i] as Output)
    } catch (error) {
      // The fault may be one's alone.
      if (callers.length > 1 && !isUnavailable(error)) {
        for (const each of callers) await this.#serve(place, stillWaiting([each]))
      } else for (const { reject } of callers) reject(error)
    }
  }
}

function stillWaiting<Input, Output>(callers: readonly Caller<Input, Output>[]): Caller<Input, Output>[] {
  return callers.filter(({ signal, reject }) => {
    if (signal?.aborted) reject(abandoned())
    return !signal?.aborted
  })
}
