// Batching: inputs that arrive at the same time share one statement or transaction. The round trip of a small
// statement costs PostgreSQL and the driver more than its execution, and each write waits for the disk.

import type { Sql } from './database.js'
import { abandoned } from './driver/pool.js'
import type { Signal } from './driver/sql.js'
import { isUnavailable } from './unavailable.js'

/**
 * Processes inputs in one statement or transaction: returns an output for each, in order, or rejects having
 * done nothing. `/readyz` runs it without inputs.
 */
export type Batch<Target, Input, Output> = (
  target: Target,
  inputs: readonly Input[],
) => Promise<readonly Output[]>

export interface BatchLimits {
  /** Inputs in a batch, unless the queue divided by `inFlightMax` is more. */
  readonly inputs: number
  /** Batches in flight. */
  readonly inFlightMax: number
}

/**
 * While two batches are in flight, inputs queue for the next: batches grow with the load. An iteration of the
 * event loop may make several: PostgreSQL runs the first while the process prepares the others.
 */
export const defaultLimits: BatchLimits = { inputs: 32, inFlightMax: 2 }

// A transaction runs its statements one after the other.
const oneBatch: BatchLimits = { inputs: Number.POSITIVE_INFINITY, inFlightMax: 1 }

/** Returns a function for one input, which batches simultaneous calls on a pool or a transaction. */
export function batched<Input, Output>(
  run: Batch<Sql, Input, Output>,
  limits = defaultLimits,
): (sql: Sql, input: Input) => Promise<Output> {
  const queues = new WeakMap<object, BatchQueue<Sql, Input, Output>>()
  const probe = (sql: Sql) => run(sql, [])
  return (given, input) => {
    const sql = given.share?.() ?? given
    const key = sql.pool ?? sql
    let queue = queues.get(key)
    if (queue === undefined) {
      queue = new BatchQueue(sourceOf(sql), run, sql.pool === undefined ? oneBatch : limits)
      queues.set(key, queue)
      sql.probes?.add(probe)
    }
    return queue.add(input, sql.signal)
  }
}

/** Lends what a batch sends its statements on. */
interface Source<Target> {
  hold(signal: undefined, run: (target: Target) => Promise<void>): Promise<void>
}

function sourceOf(sql: Sql): Source<Sql> {
  const { pool } = sql
  if (pool === undefined) return { hold: (_, run) => run(sql) }
  return { hold: (signal, run) => pool.hold(signal, (held) => run(held.sqlUntil(undefined))) }
}

interface Caller<Input, Output> {
  readonly input: Input
  readonly signal: Signal | undefined
  resolve(output: Output): void
  reject(error: unknown): void
}

// How long a small batch waits for larger ones in flight, which may be blocked.
const patienceMs = 10

/**
 * A queue of inputs, sent in batches: a full one at once, a smaller one after the event loop's iteration. One
 * that is smaller than those in flight waits until it is not, or they are done: few large batches cost less
 * than many small ones.
 */
export class BatchQueue<Target, Input, Output> {
  #waiting: Caller<Input, Output>[] = []
  #inFlight = 0
  #inputsInFlight = 0
  #isScheduled = false
  #patience: NodeJS.Timeout | undefined

  constructor(
    readonly source: Source<Target>,
    readonly run: Batch<Target, Input, Output>,
    readonly limits = defaultLimits,
  ) {}

  /** Returns the output for an input; STATEMENT_ABANDONED if `signal` aborts before it is sent. */
  add(input: Input, signal: Signal | undefined): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, signal, resolve, reject })
      this.#sendOrSchedule()
    })
  }

  get #canSend(): boolean {
    return this.#waiting.length > 0 && this.#inFlight < this.limits.inFlightMax
  }

  #sendOrSchedule(): void {
    if (!this.#canSend) return
    if (this.#waiting.length >= this.limits.inputs) void this.#send()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => {
        this.#isScheduled = false
        this.#sendUnlessSmall()
      })
    }
  }

  #sendUnlessSmall(): void {
    if (!this.#canSend) return
    const isSmall = this.#waiting.length * this.#inFlight < this.#inputsInFlight
    if (!isSmall) void this.#send()
    else
      this.#patience ??= setTimeout(() => {
        this.#patience = undefined
        if (this.#canSend) void this.#send()
      }, patienceMs).unref()
  }

  // Fills the batch once it has a connection: no input is sent whose caller has stopped waiting by then.
  async #send(): Promise<void> {
    this.#inFlight++
    try {
      await this.source.hold(undefined, (target) => this.#serveNext(target))
    } catch (error) {
      // No connection is available.
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    } finally {
      this.#inFlight--
      this.#sendOrSchedule()
    }
  }

  async #serveNext(target: Target): Promise<void> {
    const { inputs, inFlightMax } = this.limits
    const share = Math.ceil(this.#waiting.length / inFlightMax)
    const callers = stillWaiting(this.#waiting.splice(0, Math.max(inputs, share)))
    this.#inputsInFlight += callers.length
    this.#sendOrSchedule()
    try {
      await this.#serve(target, callers)
    } finally {
      this.#inputsInFlight -= callers.length
    }
  }

  async #serve(target: Target, callers: readonly Caller<Input, Output>[]): Promise<void> {
    if (callers.length === 0) return
    try {
      const outputs = await this.run(
        target,
        callers.map(({ input }) => input),
      )
      for (const [i, { resolve }] of callers.entries()) resolve(outputs[i] as Output)
    } catch (error) {
      // One input may be at fault: retry each alone.
      if (callers.length > 1 && !isUnavailable(error)) {
        for (const each of callers) await this.#serve(target, stillWaiting([each]))
      } else for (const { reject } of callers) reject(error)
    }
  }
}

// Rejects the callers that have stopped waiting, and returns the others.
function stillWaiting<Input, Output>(callers: readonly Caller<Input, Output>[]): Caller<Input, Output>[] {
  return callers.filter(({ signal, reject }) => {
    if (signal?.aborted) reject(abandoned())
    return !signal?.aborted
  })
}
