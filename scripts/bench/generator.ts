// The load generator. Closed-loop: each connection sends its next request after the response. Open-loop:
// requests are sent at a constant rate, independent of responses. Requests are not pipelined.

import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { Connection } from './connection.js'

export interface Job {
  readonly port: number
  readonly connections: number
  readonly durationMs: number
  /** Returns the next request, ready to be sent. */
  nextRequest(): string
  /** Requests per second of an open loop. Undefined for a closed loop. */
  readonly rate?: number
  /** Aborts the job. */
  readonly interruption: AbortSignal
}

/** The outcomes. Latencies are in microseconds, from sending a request to the end of its response. */
export interface LoadResult {
  readonly durationMs: number
  /** Latencies of responses with 2xx. */
  readonly served: RecordableHistogram
  /** Latencies of responses with 503. */
  readonly refused: RecordableHistogram
  /** Counts of other outcomes, by status or error message. */
  readonly others: Readonly<Record<string, number>>
  /** The number of all responses, including those outside the measured time. */
  readonly total: number
}

// How long to wait for outstanding responses at the end.
const drainMs = 2_000
// A closed-loop job starts to measure after this time: the server has then closed the last job's connections,
// and accepted this job's.
const leadInMs = 50
const tickMs = 1
const latencyMaxUs = 60_000_000

/** Creates a histogram of latencies in microseconds, with three significant digits. */
export function createLatencies(): RecordableHistogram {
  return createHistogram({ lowest: 1, highest: latencyMaxUs, figures: 3 })
}

/**
 * Runs a job; resolves when its time is over and outstanding responses have arrived. A closed-loop job
 * measures responses between the lead-in and the end; an open-loop job measures all requests. Rejects if
 * interrupted.
 */
export async function generateLoad(job: Job): Promise<LoadResult> {
  const connections = Array.from({ length: job.connections }, () => new Connection(job.port))
  try {
    await Promise.all(connections.map((connection) => connection.open()))
    const result = await new Run(job).run(connections)
    job.interruption.throwIfAborted()
    return result
  } finally {
    for (const connection of connections) connection.close()
  }
}

class Run {
  readonly #served = createLatencies()
  readonly #refused = createLatencies()
  readonly #others: Record<string, number> = {}
  #total = 0
  #begin = Number.POSITIVE_INFINITY
  #end = Number.POSITIVE_INFINITY
  #isOver = false

  constructor(readonly job: Job) {}

  async run(connections: readonly Connection[]): Promise<LoadResult> {
    const { durationMs, rate, interruption } = this.job
    const drained =
      rate === undefined ? await this.#startClosedLoop(connections) : this.#startOpenLoop(connections, rate)
    await delay(durationMs, undefined, { signal: interruption }).catch(() => {}) // interrupted: drain, too
    const over = performance.now()
    if (rate === undefined) this.#end = over
    this.#isOver = true
    await Promise.race([drained(), delay(drainMs, undefined, { ref: false })])
    return {
      durationMs: over - this.#begin,
      served: this.#served,
      refused: this.#refused,
      others: this.#others,
      total: this.#total,
    }
  }

  async #startClosedLoop(connections: readonly Connection[]): Promise<() => Promise<unknown>> {
    const loops = connections.map(async (connection) => {
      while (!this.#isOver) await this.#exchange(connection)
    })
    await delay(leadInMs)
    this.#begin = performance.now()
    return () => Promise.all(loops)
  }

  // If every connection is busy when a request is due, skips the request.
  #startOpenLoop(connections: readonly Connection[], rate: number): () => Promise<unknown> {
    const idle = [...connections]
    const pending = new Set<Promise<unknown>>()
    this.#begin = performance.now()
    let due = 0
    const ticker = setInterval(() => {
      const now = Math.floor(((performance.now() - this.#begin) / 1000) * rate)
      for (; due < now; due++) {
        const connection = idle.shift() // each in turn, or most would never send a request
        if (connection === undefined) continue
        const exchange = this.#exchange(connection).then(() => {
          pending.delete(exchange)
          idle.push(connection)
        })
        pending.add(exchange)
      }
    }, tickMs)
    return () => {
      clearInterval(ticker)
      return Promise.all(pending)
    }
  }

  async #exchange(connection: Connection): Promise<void> {
    const sent = performance.now()
    const outcome = await connection.exchange(this.job.nextRequest()).catch((error: Error) => error.message)
    const now = performance.now()
    if (typeof outcome === 'number') this.#total++
    if (now >= this.#begin && now <= this.#end) this.#record(outcome, now - sent)
  }

  #record(outcome: number | string, ms: number): void {
    const latencyUs = Math.max(1, Math.round(ms * 1000))
    if (typeof outcome === 'number' && outcome >= 200 && outcome < 300) this.#served.record(latencyUs)
    else if (outcome === 503) this.#refused.record(latencyUs)
    else this.#others[outcome] = (this.#others[outcome] ?? 0) + 1
  }
}
