// The states of a pool. What happens to its connections is sent as an event; what the pool does on entering
// a state is in `connections.ts` and `pool.ts`. Without them, a standby that confirms no commit would take
// connection after connection, until none is left, and nobody would know when commits work again.

/**
 * - open: statements are sent, and connections opened on demand
 * - refused: PostgreSQL refuses connections, and none is attempted beside those that are open
 * - stalling: a connection was given up; no statement is sent but the trial of a new connection, others wait
 * - stalled: the same, and others are rejected
 * - ended: the pool is closed
 */
export type State = 'open' | 'refused' | 'stalling' | 'stalled' | 'ended'

/**
 * - refused: PostgreSQL refused a connection (too many connections, a rejected login)
 * - gaveUp: a connection was given up: its statements got no response in time
 * - completed: a new connection got a response to the trial
 * - ended: the pool closes
 * - timeout: the time of the state is over
 */
export type Event = 'refused' | 'gaveUp' | 'completed' | 'ended' | 'timeout'

// By state, the next one for each event. Other events change nothing.
const transitions: Record<State, Partial<Record<Event, State>>> = {
  open: { refused: 'refused', gaveUp: 'stalling', ended: 'ended' },
  refused: { refused: 'refused', gaveUp: 'stalling', ended: 'ended', timeout: 'open' },
  stalling: { completed: 'open', ended: 'ended', timeout: 'stalled' },
  stalled: { completed: 'open', ended: 'ended' },
  ended: {},
}

// How long a state lasts at most. The cause of a refusal may last, so attempts are not made for each
// statement.
const timeoutsMs: Partial<Record<State, number>> = { refused: 1_000, stalling: 600 }

export class PoolState {
  /** Only `send` changes it. A field, because every statement reads it. */
  current: State = 'open'
  #timer: NodeJS.Timeout | undefined

  /** @param onchange called after each change to another state */
  constructor(readonly onchange: (current: State, before: State) => void) {}

  send(event: Event): void {
    const before = this.current
    const next = transitions[before][event]
    if (next === undefined) return
    this.current = next
    clearTimeout(this.#timer)
    const timeoutMs = timeoutsMs[next]
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.send('timeout'), timeoutMs).unref()
    if (next !== before) this.onchange(next, before)
  }
}
