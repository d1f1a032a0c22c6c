// How long a statement may wait for a connection.

import { afterReading } from '../../lib/clock.js'
import { noConnection } from './connection.js'

/** Removes a waiter that is still in its queue after `waitMs`, and calls `fail` with the reason. */
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
