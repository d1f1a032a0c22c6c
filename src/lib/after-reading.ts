/**
 * Calls back in the next phase of the event loop, when what has come has been read. Whoever acts on a timer needs it: timers come
 * before reading, and a process that was stopped or starved finds them due while the bytes that they wait for are there.
 */
export function afterReading(then: () => void): void {
  setImmediate(then)
}
