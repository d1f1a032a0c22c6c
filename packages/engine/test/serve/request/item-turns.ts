import t from 'tap'
import { itemTurn } from '../../../src/serve/request/item-turns.js'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

t.test('items wait for a later turn of the event loop, in order, if there are many', async (t) => {
  await nextTurn() // ends the turn of the test before
  const { now } = performance
  t.teardown(() => {
    performance.now = now
  })
  let ms = 0
  performance.now = () => {
    ms += 0.05
    return ms
  }
  const written: number[] = []
  const turns = Array.from({ length: 25 }, (_, i) => {
    const turn = itemTurn()
    if (turn === undefined) written.push(i)
    return turn?.then(() => written.push(i))
  })
  const inTurn = [written.length]
  while (written.length < turns.length) {
    await nextTurn()
    inTurn.push(written.length)
  }
  const oneEach = Array.from({ length: 21 }, (_, i) => 5 + i)
  t.strictSame(inTurn, oneEach, 'one of those that waited in each turn')
  t.strictSame(
    written,
    turns.map((_, i) => i),
  )
  await nextTurn()
  t.equal(itemTurn(), undefined, 'and none does when they are written')
})
