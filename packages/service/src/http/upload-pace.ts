// The time of a body that streams. It may take as long as it needs, as long as it comes: a time limit would
// cut off a slow but steady client. Its client is too slow if it sends less than UPLOAD_RATE_MIN while the
// handler waits for it. Its handler is too late if it reads nothing, nor takes an item of what it has read,
// for the time that it has for a response.

import type { uploadOf } from 'contract-engine'
import { afterReading } from '../lib/clock.js'

/** A request body that streams. */
export type Upload = NonNullable<ReturnType<typeof uploadOf>>

export interface PaceLimits {
  /** In bytes per second; 0: none. */
  readonly rateMin: number
  /** Over which the rate is measured, in milliseconds. */
  readonly windowMs: number
  readonly handlerTimeoutMs: number
}

export interface OnPace {
  /** The client sends too slowly. */
  tooSlow(): void
  /** The handler does not read. */
  tooLate(): void
}

/** Watches an upload until it is stopped. */
export class UploadPace {
  readonly #timer: NodeJS.Timeout
  #received = 0
  #waitedMs = 0
  #itemsTaken = 0
  /** How long the handler has not read, since bytes came last. */
  #idleMs = 0

  constructor(
    readonly upload: Pick<Upload, 'received' | 'itemsTaken' | 'waitedMs' | 'isWaiting' | 'hasArrived'>,
    readonly limits: PaceLimits,
    readonly on: OnPace,
  ) {
    this.#timer = setInterval(() => afterReading(() => this.#look()), limits.windowMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Its connection has been silent for longer than either has: what it would find at its next look. */
  endSilence(): void {
    if (this.upload.isWaiting) this.on.tooSlow()
    else if (this.upload.itemsTaken === 0) this.on.tooLate() // a look finds whether items are taken
  }

  #look(): void {
    const { received, itemsTaken, waitedMs, hasArrived } = this.upload
    if (hasArrived) return
    const { rateMin, windowMs, handlerTimeoutMs } = this.limits
    const [bytes, waited] = [received - this.#received, waitedMs - this.#waitedMs]
    const isRead = bytes > 0 || itemsTaken > this.#itemsTaken
    this.#received = received
    this.#itemsTaken = itemsTaken
    this.#waitedMs = waitedMs
    this.#idleMs = isRead ? 0 : this.#idleMs + Math.max(0, windowMs - waited)
    const isWaiting = waited >= windowMs / 2
    if (isWaiting && bytes < (rateMin * waited) / 1_000) this.on.tooSlow()
    else if (this.#idleMs >= handlerTimeoutMs) this.on.tooLate()
  }
}
