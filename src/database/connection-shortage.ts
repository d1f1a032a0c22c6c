// Distributes connections while PostgreSQL refuses some (max_connections, a role's connection limit): a pool
// that has none gets one from the largest pool.

import type { Logger } from 'pino'
import type { Pool } from './driver/pool.js'
import { isLoginRefused } from './unavailable.js'

// Connections that open so soon after a refusal were requested together with the refused one.
const simultaneousMs = 500

export class ConnectionShortage {
  #countAtRefusal: number | undefined
  #refusedAt = 0
  // Pools without a connection: since when they wait, and whether another pool has retired one for them.
  readonly #starved = new Map<Pool, { readonly since: number; readonly isPromised: boolean }>()

  /** @param waitMs how long a pool may wait for another's connection: until its statements have ended */
  constructor(
    readonly pools: () => readonly Pool[],
    readonly waitMs: number,
    readonly log: Logger,
  ) {}

  /** Returns whether the pool should retry at once: it has no connection, and another pool may free one. */
  refused(pool: Pool, error: unknown): boolean {
    const now = performance.now()
    this.#refusedAt = now
    if (this.#countAtRefusal === undefined) {
      this.#countAtRefusal = this.#count()
      const fields = { connections: this.#countAtRefusal, reason: (error as Error).message }
      this.log.warn(fields, 'database refuses connections')
    }
    if (pool.count > 0 || isLoginRefused(error)) return false
    // Retire one connection, once. While all pools are still opening theirs, none has one to spare yet.
    const before = this.#starved.get(pool) ?? { since: now, isPromised: false }
    const wait =
      !before.isPromised && this.#largestOther(pool)?.retireOne() ? { since: now, isPromised: true } : before
    const isOver = now - wait.since > this.waitMs
    if (isOver) this.#starved.delete(pool)
    else this.#starved.set(pool, wait)
    return !isOver
  }

  opened(pool: Pool): void {
    this.#starved.delete(pool)
    const connections = this.#count()
    if (this.#countAtRefusal === undefined || connections <= this.#countAtRefusal) return
    if (performance.now() - this.#refusedAt < simultaneousMs) return
    this.#countAtRefusal = undefined
    this.log.info({ connections }, 'database accepts connections again')
  }

  #largestOther(pool: Pool): Pool | undefined {
    const others = this.pools().filter((each) => each !== pool)
    return others.sort((a, b) => b.count - a.count)[0]
  }

  #count(): number {
    return this.pools().reduce((total, { count }) => total + count, 0)
  }
}
