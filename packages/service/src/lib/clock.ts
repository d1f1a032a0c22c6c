// Monotonic time for durations: a change of the wall clock would lengthen or end them. Also the wait of
// timers for pending input.

/**
 * Returns milliseconds since the start of the process. Whole, so that a minute that just began has a minute
 * left.
 */
export function elapsedMs(): number {
  return Math.floor(performance.now())
}

/**
 * Calls back after the event loop's poll phase, when Node has read pending input. Timeouts need this: timers
 * run before that phase, so in a process that was stopped or starved, a timer may fire although the awaited
 * bytes have arrived.
 */
export function afterReading(then: () => void): void {
  setImmediate(then)
}
