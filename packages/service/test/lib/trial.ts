import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Trial } from '../../src/lib/trial.js'

/** Starts a trial; the test ends its attempts and its waits. */
function start(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const ends: ((error?: Error) => void)[] = []
  const changes: (string | undefined)[] = []
  const attempt = () =>
    new Promise<void>((resolve, reject) => {
      ends.push((error) => (error === undefined ? resolve() : reject(error)))
    })
  const trial = new Trial(attempt, (error) => changes.push(error?.message))
  const end = async (error?: Error) => {
    ends.at(-1)?.(error)
    await setImmediate()
  }
  const attemptsAfter = (ms: number) => {
    mock.timers.tick(ms)
    return ends.length
  }
  return { trial, changes, end, attemptsAfter }
}

t.test('an attempt is made each minute, and a quarter of one after one that failed', async (t) => {
  const { trial, changes, end, attemptsAfter } = start(t)
  t.strictSame([attemptsAfter(59_999), attemptsAfter(1)], [0, 1])
  t.equal(attemptsAfter(600_000), 1, 'none while one runs')
  await end()
  t.strictSame([attemptsAfter(59_999), attemptsAfter(1)], [1, 2])
  const gone = new Error('gone')
  await end(gone)
  t.equal(trial.error, gone)
  t.strictSame([attemptsAfter(14_999), attemptsAfter(1)], [2, 3])
  t.equal(trial.error, gone, 'until the next has ended')
  await end(new Error('still gone'))
  t.equal(attemptsAfter(15_000), 4)
  await end()
  t.equal(trial.error, undefined)
  t.strictSame(changes, ['gone', undefined], 'each change is told once')
  t.strictSame([attemptsAfter(59_999), attemptsAfter(1)], [4, 5])
  await end()
  await trial.stop()
})

t.test('once it is stopped, none is made', async (t) => {
  const { trial, attemptsAfter } = start(t)
  await trial.stop()
  t.equal(attemptsAfter(600_000), 0)
})

t.test('who stops it waits for the attempt that runs, and no other follows', async (t) => {
  const { trial, end, attemptsAfter } = start(t)
  t.equal(attemptsAfter(60_000), 1)
  let isStopped = false
  const stopped = trial.stop().then(() => {
    isStopped = true
  })
  await setImmediate()
  t.notOk(isStopped)
  await end(new Error('gone'))
  await stopped
  t.equal(attemptsAfter(600_000), 1)
})
