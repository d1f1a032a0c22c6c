import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { type Event, PoolState, type State } from '../../../src/database/driver/pool-state.js'

function create(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const changes: string[] = []
  const state = new PoolState((current, before) => changes.push(`${before} -> ${current}`))
  const after = (...events: (Event | number)[]): State => {
    for (const each of events) typeof each === 'number' ? mock.timers.tick(each) : state.send(each)
    return state.current
  }
  return { state, changes, after }
}

// For each state, the events that lead to it, and the state after each further event. Other events change
// nothing.
const states: [state: State, reachedBy: Event[], then: Partial<Record<Event, State>>][] = [
  ['open', [], { refused: 'refused', gaveUp: 'stalling', ended: 'ended' }],
  ['refused', ['refused'], { gaveUp: 'stalling', ended: 'ended', timeout: 'open' }],
  ['stalling', ['gaveUp'], { completed: 'open', ended: 'ended', timeout: 'stalled' }],
  ['stalled', ['gaveUp', 'timeout'], { completed: 'open', ended: 'ended' }],
  ['ended', ['ended'], {}],
]
const events: Event[] = ['refused', 'gaveUp', 'completed', 'ended', 'timeout']

for (const [from, reachedBy, then] of states)
  for (const event of events) {
    const to = then[event] ?? from
    t.test(`${from}, ${event}: ${to}`, async (t) => {
      const { state, changes, after } = create(t)
      t.equal(after(...reachedBy), from)
      changes.length = 0
      t.equal(after(event), to)
      t.strictSame(changes, to === from ? [] : [`${from} -> ${to}`], 'a change is reported once')
      t.equal(state.current, to)
    })
  }

t.test('attempts are made again a second after the last refusal', async (t) => {
  const { after } = create(t)
  t.equal(after('refused', 999), 'refused')
  t.equal(after('refused', 999), 'refused')
  t.equal(after(1), 'open')
})

t.test('statements wait for a trial for 600 ms', async (t) => {
  const { after } = create(t)
  t.equal(after('gaveUp', 300, 'gaveUp', 299), 'stalling', 'another loss extends nothing')
  t.equal(after(1), 'stalled')
  t.equal(after(1_000_000, 'gaveUp', 'refused'), 'stalled', 'only a trial ends it')
  t.equal(after('completed'), 'open')
})

t.test('a state that has been left changes nothing later', async (t) => {
  const { after, changes } = create(t)
  t.equal(after('refused', 500, 'gaveUp', 500), 'stalling')
  t.equal(after('completed', 10_000), 'open')
  t.equal(after('gaveUp', 500, 'ended', 10_000), 'ended')
  t.equal(changes.length, 5)
})
