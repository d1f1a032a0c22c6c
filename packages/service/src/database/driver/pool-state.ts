// The states of a pool. `connections.ts` sends events, and acts when a state is entered. Without these
// states, a standby that confirms no commit would take connection after connection, until none is left, and
// nobody would know when commits work again.

/**
 * - open: the pool sends statements, and opens connections on demand
 * - refused: PostgreSQL refuses connections; the pool uses those that are open, and opens no others
 * - stalling: a connection was given up; the pool sends only the trial of a new one, and statements wait
 * - stalled: as stalling, but the pool rejects statements
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

// The next state, by state and event. Other events change nothing.
const transitions: Record<State, Partial<Record<Event, State>>> = {
  open: { refused: 'refused', gaveUp: 'stalling', ended: 'ended' },
  refused: { refused: 'refused', gaveUp: 'stalling', ended: 'ended', timeout: 'open' },
  stalling: { completed: 'open', ended: 'ended', timeout: 'stalled' },
  stalled: { completed: 'open', ended: 'ended' },
  ended: {},
}

// How long a state lasts at most. After a refusal, the pool rests instead of trying for each statement.
const timeoutsMs: Partial<Record<State, number>> = { refused: 1_000, stalling: 600 }

export class PoolState {
  /** Changed by `send` alone. A plain field, because every statement reads it. */
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
