// Time that passes only while nothing happens, so that a wait of a day takes none.

import FakeTimers from '@sinonjs/fake-timers'

const { setTimeout: later, setImmediate: soon } = globalThis
const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date']

// Before the helpers are imported, which may keep a reference.
const clock = FakeTimers.install({ now: Date.now(), toFake })

const dayMs = 86_400_000
const settledMs = 60
let changedAt = 0

/** Says that a request has come or gone: what follows from it takes no time of the clock. */
export function happened() {
  changedAt = performance.now()
}

/** Runs `act` until it ends, or for two days, and returns the seconds that passed. */
export async function secondsOf(act) {
  const begin = Date.now()
  const outcome = settle(act)
  happened()
  while (!outcome.isDone && Date.now() - begin < 2 * dayMs) {
    while (!outcome.isDone && performance.now() - changedAt < settledMs) await pause(5)
    if (!outcome.isDone) await clock.nextAsync()
    await new Promise((resolve) => soon(resolve))
  }
  return { ...outcome, seconds: Math.round((Date.now() - begin) / 100) / 10 }
}

/** Runs `act` until it ends, in the time that it takes: what waits for files does not wait for a server. */
export async function untilDone(act) {
  const outcome = settle(act)
  while (!outcome.isDone) {
    await pause(5)
    await clock.tickAsync(5)
  }
  return outcome
}

function settle(act) {
  const outcome = { isDone: false }
  Promise.resolve()
    .then(act)
    .then(
      (value) => Object.assign(outcome, { isDone: true, value }),
      (error) => Object.assign(outcome, { isDone: true, error }),
    )
  return outcome
}

function pause(ms) {
  return new Promise((resolve) => later(resolve, ms))
}
