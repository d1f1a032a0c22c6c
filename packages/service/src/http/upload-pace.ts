// Limits the time of a body that streams by its pace: a fixed limit would cut off a slow but steady client.
// The client is too slow if it sends less than UPLOAD_RATE_MIN while the handler waits for it. The handler is
// too late if for its timeout it neither reads nor takes an item of what it has read.

import type { uploadOf } from 'contract-engine'
import { afterReading } from '../lib/clock.js'

/** A request body that streams. */
export type Upload = NonNullable<ReturnType<typeof uploadOf>>

export interface PaceLimits {
  /** The minimum rate in bytes per second. 0 means no minimum. */
  readonly rateMin: number
  /** The window for measuring the rate, in milliseconds. */
  readonly windowMs: number
  readonly handlerTimeoutMs: number
}

export interface OnPace {
  /** Called when the client sends too slowly. */
  tooSlow(): void
  /** Called when the handler does not read. */
  tooLate(): void
}

/** Watches an upload until it is stopped. */
export class UploadPace {
  readonly #timer: NodeJS.Timeout
  #received = 0
  #waitedMs = 0
  #itemsTaken = 0
  /** How long the handler has not read since the last bytes arrived. */
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

  /** Called when the connection has been silent for longer than client and handler may take. */
  endSilence(): void {
    if (this.upload.isWaiting) this.on.tooSlow()
    else if (this.upload.itemsTaken === 0) this.on.tooLate() // with items, `#look` decides
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
