// Monotonic time, for durations, and what a timer must wait for. The wall clock may be set, which would
// lengthen or end a duration.

/** Milliseconds since the start of the process, whole: the rest of a minute just begun is a minute. */
export function elapsedMs(): number {
  return Math.floor(performance.now())
}

/**
 * Calls back after the event loop's poll phase, when pending input has been read. For timeouts: timers run
 * before that phase, so after a stop or starvation a timer may be due although its bytes have arrived.
 */
export function afterReading(then: () => void): void {
  setImmediate(then)
}
