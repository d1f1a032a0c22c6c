/**
 * Calls back after the event loop's poll phase, when pending input has been read. For timeouts: timers run before that phase, so in a
 * process that was stopped or starved a timer may be due although the bytes it waits for have arrived.
 */
export function afterReading(then: () => void): void {
  setImmediate(then)
}
