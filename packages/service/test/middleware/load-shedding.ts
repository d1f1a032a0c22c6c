import t from 'tap'
import { LoadShedder, overload } from '../../src/middleware/load-shedding.js'

t.test('a slot is free again before whoever waits for its work goes on', async (t) => {
  const shedder = new LoadShedder(1)
  const seen: number[] = []
  const note = () => void seen.push(shedder.inFlight)
  const work = shedder.run(async () => note())
  await work.then(note)
  await shedder.run(() => Promise.reject(new Error('it fails'))).catch(note)
  t.strictSame(seen, [1, 0, 0])
})

t.test('work that throws before it begins frees its slot, and rejects', async (t) => {
  const shedder = new LoadShedder(1)
  const faulty = () => {
    throw new Error('it throws')
  }
  await t.rejects(shedder.run(faulty), { message: 'it throws' })
  t.equal(shedder.inFlight, 0)
})

t.test('work beyond the limit is refused by a rejection, and takes no slot', async (t) => {
  const shedder = new LoadShedder(1)
  const first = shedder.run(() => new Promise<void>((resolve) => setImmediate(resolve)))
  const inner = shedder.run(async () => t.fail('it runs'))
  await t.rejects(inner, overload)
  t.strictSame([shedder.inFlight, shedder.refused], [1, 1])
  await first
  t.equal(shedder.inFlight, 0)
})

t.test('work counts while it begins: what it starts itself has no slot of its own', async (t) => {
  const shedder = new LoadShedder(1)
  await t.rejects(
    shedder.run(() => shedder.run(async () => undefined)),
    overload,
  )
  t.equal(shedder.inFlight, 0)
})
