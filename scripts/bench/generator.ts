// The load generator, closed-loop (each connection sends on when it is answered) or open-loop (at a rate, whether or not
// responses come). Nothing is pipelined.

import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { Connection } from './connection.js'

export interface Job {
  readonly port: number
  readonly connections: number
  readonly durationMs: number
  /** Gives the next request, as it goes over the wire. */
  nextRequest(): string
  /** Requests a second, open-loop. Undefined: closed-loop. */
  readonly rate?: number
  /** Ends the job early. */
  readonly interruption: AbortSignal
}

/** What came back. Histograms are in microseconds, from the sending of a request to the end of its response. */
export interface LoadResult {
  readonly durationMs: number
  /** 2xx. */
  readonly served: RecordableHistogram
  /** 503. */
  readonly refused: RecordableHistogram
  /** How often each other outcome came: a status, or a lost connection. */
  readonly others: Readonly<Record<string, number>>
  /** Responses in all, including those before and after the time that is measured. */
  readonly total: number
}

// How long responses are awaited after the end.
const drainMs = 2_000
// Until the connections are accepted, and those of the job before are closed.
const leadInMs = 50
const tickMs = 1
const latencyMaxUs = 60_000_000

/** A histogram of latencies in microseconds, exact to three digits. */
export function createLatencies(): RecordableHistogram {
  return createHistogram({ lowest: 1, highest: latencyMaxUs, figures: 3 })
}

/**
 * Runs a job; resolves when its time is over and what was sent is answered, rejects with the reason of an interruption. Closed-loop,
 * it measures what is answered from the end of the lead-in to the end of the time; open-loop, whatever was sent in time, however
 * late the response.
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
    await delay(durationMs, undefined, { signal: interruption }).catch(() => {}) // the connections are drained either way
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

  // A request whose time comes while every connection waits is not sent.
  #startOpenLoop(connections: readonly Connection[], rate: number): () => Promise<unknown> {
    const idle = [...connections]
    const pending = new Set<Promise<unknown>>()
    this.#begin = performance.now()
    let due = 0
    const ticker = setInterval(() => {
      const now = Math.floor(((performance.now() - this.#begin) / 1000) * rate)
      for (; due < now; due++) {
        const connection = idle.pop()
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
