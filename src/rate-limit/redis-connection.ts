// The connection to Redis, and whether it is to be relied on. The first request that Redis fails tells; those after it do
// not wait for it again until a probe has been answered.

import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { MaybePromise } from '../lib/maybe-promise.js'

const tickMs = 10
// For a connection to be made, and for the answer to one command, though others are answered.
const patienceMs = 1_000
const probeEveryMs = 250

/** A connection that fails at once when it is down, and soon when nothing comes back on it. */
export class RedisConnection {
  readonly redis: Redis
  #isUp = true
  #awaited = 0
  #bytesRead = 0
  #silentTicks = 0
  #ticker: NodeJS.Timeout | undefined
  #probe: NodeJS.Timeout | undefined

  /** A connection that is silent for `timeoutMs`, while an answer is awaited, is given up. */
  constructor(
    url: string,
    readonly timeoutMs: number,
    readonly log: Logger,
  ) {
    this.redis = new Redis(url, {
      lazyConnect: true,
      enableAutoPipelining: true, // one write for what refused requests and addresses ask in one iteration
      connectTimeout: Math.max(patienceMs, timeoutMs),
      commandTimeout: Math.max(patienceMs, timeoutMs),
      enableOfflineQueue: false,
      enableReadyCheck: false, // the probe is one, and asks for more
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => probeEveryMs,
    })
    this.redis.on('error', (error: Error) => log.debug({ reason: error.message }, 'redis connection'))
  }

  /** Whether it is worth asking. */
  get isUp(): boolean {
    return this.#isUp
  }

  /** Connects; a Redis that is away is waited for in the background. */
  async open(): Promise<void> {
    try {
      await this.redis.connect()
      await this.whileListening(() => this.#ask())
    } catch (error) {
      this.lost(error)
    }
  }

  /** Does what asks Redis. If Redis falls silent meanwhile, all that was asked fails. */
  async whileListening<T>(ask: () => MaybePromise<T>): Promise<T> {
    this.#awaited++
    this.#ticker ??= setInterval(() => this.#tick(), tickMs).unref()
    try {
      return await ask()
    } finally {
      this.#awaited--
    }
  }

  /** Redis failed a request: it is not asked again until it answers a probe. */
  lost(error: unknown): void {
    if (!this.#isUp) return
    this.#isUp = false
    this.log.warn({ reason: (error as Error).message }, 'redis is away: this instance counts on its own')
    this.#probeSoon()
  }

  /** Ends the connection. */
  close(): void {
    clearTimeout(this.#probe)
    clearInterval(this.#ticker)
    this.redis.disconnect()
  }

  // Ticks of the loop, and not milliseconds: a process that was busy has not listened, and a time limit would call a
  // healthy Redis away. And bytes, not answers: a Redis with much to do still answers somebody.
  #tick(): void {
    const bytesRead = this.redis.stream?.bytesRead ?? 0
    this.#silentTicks = this.#awaited > 0 && bytesRead === this.#bytesRead ? this.#silentTicks + 1 : 0
    this.#bytesRead = bytesRead
    if (this.#awaited === 0) {
      clearInterval(this.#ticker)
      this.#ticker = undefined
    }
    if (this.#silentTicks * tickMs < this.timeoutMs) return
    this.#silentTicks = 0
    this.lost(new Error(`no answer for ${this.timeoutMs} ms`))
    this.redis.disconnect(true) // and connects anew: whatever was asked on the old connection has failed
  }

  #probeSoon(): void {
    this.#probe = setTimeout(() => this.#tryAgain(), probeEveryMs).unref()
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#ask()
      this.#isUp = true
      this.log.info('redis is back: instances share their counts')
    } catch {
      this.#probeSoon()
    }
  }

  // A write, for a Redis that only reads cannot count.
  #ask(): Promise<unknown> {
    return this.redis.set('animal-store:probe', '1', 'PX', 1_000)
  }
}
