/**
 * Calls back after the event loop's poll phase, when pending input has been read. For timeouts: timers run
 * before that phase, so after a stop or starvation a timer may be due although its bytes have arrived.
 */
export function afterReading(then: () => void): void {
  setImmediate(then)
}
