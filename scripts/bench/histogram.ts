// Latencies in constant memory: steps of 0.01 ms up to 100 ms, of 1 ms beyond.

import type { Latencies } from './load.js'

const fineMs = 0.01
const fineSteps = 10_000
const coarseMs = 1
const coarseSteps = 60_000

/** Counts latencies by size; percentiles are exact to a step. */
export class Histogram {
  readonly #counts = new Uint32Array(fineSteps + coarseSteps)
  #count = 0
  #max = 0

  add(ms: number): void {
    const step = ms < fineSteps * fineMs ? Math.floor(ms / fineMs) : fineSteps + Math.floor(ms / coarseMs)
    const last = this.#counts.length - 1
    this.#counts[Math.min(step, last)] = (this.#counts[Math.min(step, last)] ?? 0) + 1
    this.#count++
    if (ms > this.#max) this.#max = ms
  }

  latencies(): Latencies {
    return { count: this.#count, p50: this.#percentile(0.5), p99: this.#percentile(0.99), max: this.#max }
  }

  // The upper edge of the step in which it lies.
  #percentile(share: number): number {
    let rest = Math.ceil(this.#count * share)
    const step = this.#counts.findIndex((count) => {
      rest -= count
      return rest <= 0
    })
    const edge = step < fineSteps ? (step + 1) * fineMs : (step - fineSteps + 1) * coarseMs
    return Math.min(edge, this.#max)
  }
}
