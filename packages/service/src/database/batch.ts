// Batching: inputs that arrive at the same time share one statement or transaction. The round trip of a small
// statement costs more than its execution, and without batches each write would wait for the disk by itself.

import { checkCount, oncePerTick } from '../lib/shared-calls.js'
import type { Sql } from './database.js'
import { abandoned } from './driver/connection.js'
import { limitWait } from './driver/limit-wait.js'
import type { ConnectionSource, HeldConnection, Probe, Signal } from './driver/sql.js'
import { isTimedOut, isUnavailable } from './unavailable.js'

/**
 * Processes inputs in one statement or transaction. Returns an output for each input, in order; if it
 * rejects, nothing has changed. `/readyz` runs it without inputs.
 */
export type Batch<Target, Input, Output> = (
  target: Target,
  inputs: readonly Input[],
) => Promise<readonly Output[]>

export interface BatchLimits {
  /** Inputs in a batch. A long queue is divided by `inFlightMax` into larger ones. */
  readonly inputs: number
  /** Batches in flight. */
  readonly inFlightMax: number
}

/**
 * While two batches are in flight, inputs queue for the next, so batches grow with the load. One iteration of
 * the event loop may send several batches: PostgreSQL runs the first while the process prepares the others.
 */
export const defaultLimits: BatchLimits = { inputs: 32, inFlightMax: 2 }

/** Throws for a second statement of a request that shares a transaction (`only`). */
export function refuseMore(): never {
  throw new Error('who shares a transaction may run one batched statement, and nothing else')
}

type Add<Input, Output> = (input: Input, signal: Signal | undefined) => Promise<Output>

/** Returns a function for one input. Its simultaneous calls on one pool or transaction share a batch. */
export function batched<Input, Output>(
  run: Batch<Sql, Input, Output>,
  limits = defaultLimits,
): (sql: Sql, input: Input) => Promise<Output> {
  const adders = new WeakMap<object, Add<Input, Output>>()
  const probe: Probe = (sql) => run(sql, [])
  return (given, input) => {
    const { only } = given
    if (only?.isUsed) refuseMore()
    if (only !== undefined) only.isUsed = true
    const sql = only?.sql ?? given
    const target = sql.pool ?? sql
    let add = adders.get(target)
    if (add === undefined) {
      add = adderTo(sql, run, limits)
      adders.set(target, add)
      sql.probes?.add(probe)
    }
    return add(input, sql.signal)
  }
}

// A transaction needs no queue: inputs that arrive together form one batch, sent at once in the write of
// BEGIN.
function adderTo<Input, Output>(
  sql: Sql,
  run: Batch<Sql, Input, Output>,
  limits: BatchLimits,
): Add<Input, Output> {
  const { pool } = sql
  if (pool === undefined) return oncePerTick((inputs: readonly Input[]) => run(sql, inputs))
  const runOn = (held: HeldConnection, inputs: readonly Input[]) => run(held.sql, inputs)
  const queue = new BatchQueue(pool, runOn, limits)
  return (input, signal) => queue.add(input, signal)
}

interface Caller<Input, Output> {
  readonly input: Input
  readonly signal: Signal | undefined
  resolve(output: Output): void
  reject(error: unknown): void
}

// How long a small batch waits for larger ones in flight. They may be blocked.
const patienceMs = 10

/**
 * A queue of inputs, sent in batches: a full batch at once, a smaller one after the iteration of the event
 * loop. A batch smaller than those in flight waits until it has grown or they finish: few large batches cost
 * less than many small ones (5 % of the CPU of a get).
 */
export class BatchQueue<Input, Output> {
  readonly #waiting: Caller<Input, Output>[] = []
  #inFlight = 0
  #inputsInFlight = 0
  #isScheduled = false
  #patience: NodeJS.Timeout | undefined

  /** @param run resolves once the effect of its statements is durable */
  constructor(
    readonly pool: ConnectionSource,
    readonly run: Batch<HeldConnection, Input, Output>,
    readonly limits = defaultLimits,
  ) {}

  /**
   * Returns the output for an input. Rejects with STATEMENT_ABANDONED if `signal` aborts before it is sent.
   */
  add(input: Input, signal: Signal | undefined): Promise<Output> {
    return new Promise((resolve, reject) => {
      const caller = { input, signal, resolve, reject }
      this.#waiting.push(caller)
      this.#sendOrSchedule()
      if (signal?.waitMs !== undefined) limitWait(this.#waiting, caller, signal.waitMs, reject)
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

  // Fills the batch once it has a connection, and leaves out inputs whose callers have stopped waiting by
  // then.
  async #send(): Promise<void> {
    const batch: { callers?: readonly Caller<Input, Output>[] } = {}
    this.#inFlight++
    try {
      await this.#serve(() => (batch.callers = this.#take()))
    } catch (error) {
      if (batch.callers === undefined)
        rejectAll(this.#waiting.splice(0), error) // without a connection
      else if (batch.callers.length < 2 || isUnavailable(error)) rejectAll(batch.callers, error)
      else await this.#serveEach(batch.callers) // one input may be at fault
      // A statement's time counts from when its caller asked: inputs that waited for this batch have none
      // left.
      if (this.pool.limitMs !== undefined && isTimedOut(error)) rejectAll(this.#waiting.splice(0), error)
    } finally {
      this.#inFlight--
      this.#sendOrSchedule()
    }
  }

  #take(): readonly Caller<Input, Output>[] {
    const share = Math.ceil(this.#waiting.length / this.limits.inFlightMax)
    const callers = this.#waiting.splice(0, Math.max(this.limits.inputs, share))
    this.#sendOrSchedule()
    return stillWaiting(callers)
  }

  async #serve(take: () => readonly Caller<Input, Output>[]): Promise<void> {
    let callers: readonly Caller<Input, Output>[] = []
    const outputs = await this.pool.hold(undefined, (held) => {
      callers = take()
      return this.#runFor(held, callers)
    })
    callers.forEach(({ resolve }, i) => {
      resolve(outputs[i] as Output) // `checkCount` has made sure of it
    })
  }

  async #runFor(held: HeldConnection, callers: readonly Caller<Input, Output>[]): Promise<readonly Output[]> {
    const inputs = callers.map(({ input }) => input)
    if (inputs.length === 0) return []
    this.#inputsInFlight += inputs.length
    try {
      const outputs = await this.run(held, inputs)
      checkCount(inputs.length, outputs.length)
      return outputs
    } finally {
      this.#inputsInFlight -= inputs.length
    }
  }

  async #serveEach(callers: readonly Caller<Input, Output>[]): Promise<void> {
    for (const each of callers)
      await this.#serve(() => stillWaiting([each])).catch((error) => each.reject(error))
  }
}

// Rejects the callers that have stopped waiting, and returns the others.
function stillWaiting<Input, Output>(callers: readonly Caller<Input, Output>[]): Caller<Input, Output>[] {
  return callers.filter(({ signal, reject }) => {
    const isAborted = signal?.aborted === true
    if (isAborted) reject(abandoned())
    return !isAborted
  })
}

function rejectAll<Input, Output>(callers: readonly Caller<Input, Output>[], error: unknown): void {
  for (const { reject } of callers) reject(error)
}
