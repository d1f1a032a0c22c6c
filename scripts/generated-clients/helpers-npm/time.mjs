// Time that passes only while nothing happens, so that a wait of a day takes none.

import FakeTimers from '@sinonjs/fake-timers'

const { setTimeout: later, setImmediate: soon } = globalThis
const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date']

// Before the helpers are imported, which may keep a reference.
const clock = FakeTimers.install({ now: Date.now(), toFake })

const dayMs = 86_400_000
const settledMs = 30
let changedAt = 0

/** Says that a request has come or gone: what follows from it takes no time of the clock. */
export function happened() {
  changedAt = performance.now()
}

/** Runs `act` until it ends, or for two days, and returns the seconds that passed. */
export async function secondsOf(act) {
  const begin = Date.now()
  let isDone = false
  const result = Promise.resolve()
    .then(act)
    .then(
      (value) => ({ value }),
      (error) => ({ error }),
    )
    .finally(() => {
      isDone = true
    })
  happened()
  while (!isDone && Date.now() - begin < 2 * dayMs) {
    while (!isDone && performance.now() - changedAt < settledMs)
      await new Promise((resolve) => later(resolve, 5))
    if (!isDone) await clock.nextAsync()
    await new Promise((resolve) => soon(resolve))
  }
  return { seconds: Math.round((Date.now() - begin) / 100) / 10, ...(isDone ? await result : {}) }
}
