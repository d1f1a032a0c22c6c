import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { atEndOfTurn } from '../src/turn.js'

t.test('what waits for the end of a turn is called in order, what it asks for too, and once', async (t) => {
  const calls: number[] = []
  atEndOfTurn(() => {
    calls.push(1)
    atEndOfTurn(() => calls.push(3))
  })
  atEndOfTurn(() => calls.push(2))
  await Promise.resolve()
  t.strictSame(calls, [], 'the turn is not over')
  await setImmediate()
  t.strictSame(calls, [1, 2, 3])
  await setImmediate()
  t.strictSame(calls, [1, 2, 3])
})
