// How long a statement may wait for a connection.

import { afterReading } from '../../lib/clock.js'
import { noConnection } from './connection.js'

/** Takes whoever still waits in a queue after `waitMs` out of it, and calls `fail` with why. */
export function limitWait<Waiter>(
  queue: Waiter[],
  waiter: Waiter,
  waitMs: number,
  fail: (error: Error) => void,
): void {
  const giveUp = () => {
    const index = queue.indexOf(waiter)
    if (index < 0) return
    queue.splice(index, 1)
    fail(noConnection(waitMs))
  }
  setTimeout(() => afterReading(giveUp), waitMs).unref()
}
