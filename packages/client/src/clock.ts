// The client's time and randomness, and a timer without the limit of setTimeout.

/** Time and randomness, replaceable in tests. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when the signal is aborted. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** Returns a number from 0 to 1. */
  random(): number
}

// About 24.8 days. For a longer time, setTimeout fires at once.
const longestMs = 2 ** 31 - 1

/**
 * Calls `run` after any number of milliseconds; for `Infinity`, never. Returns the function that cancels it.
 */
export function startTimer(ms: number, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>
  const start = (leftMs: number) => {
    const next = () => (leftMs > longestMs ? start(leftMs - longestMs) : run())
    timer = setTimeout(next, Math.min(leftMs, longestMs))
  }
  start(ms)
  return () => clearTimeout(timer)
}

/** The system's time, timers and randomness. */
export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const stop = () => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = startTimer(ms, () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      })
      signal?.addEventListener('abort', stop, { once: true })
    }),
}
