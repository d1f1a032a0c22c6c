// The connections of a pool: opens them on demand, replaces those that are lost, and after a stall tries
// whether the database completes statements again. It rests after a failed attempt: otherwise, a PostgreSQL
// that starts would be met by as many logins as there are requests.

import { setTimeout as delay } from 'node:timers/promises'
import { Servers } from '../servers.js'
import { codedError, isConnectionLimit, isConnectionRefused } from '../unavailable.js'
import { Connection, connectionClosed, type Lender, type MakeOne } from './connection.js'
import { PoolState, type State } from './pool-state.js'

export interface ConnectionsOptions {
  readonly make: MakeOne
  /** Default: the one server that `make` connects to. */
  readonly servers?: Servers
  /** The maximum number of connections. They are opened on demand. */
  readonly size: number
  /** A connection with statements in flight is given up after so long without a byte. */
  readonly readTimeoutMs: number
  /** True if statements may only read, even on a primary. */
  readonly isReadOnly?: boolean
  /** The statement that ends a stall once it completes. Default: `select 1`. */
  readonly trial?: string
  /** Called when a stall begins and ends. */
  readonly onstalled?: (isStalled: boolean) => void
  /**
   * Called when a given-up connection does not respond to a cancel request: other connections may be lost,
   * too.
   */
  readonly onunresponsive?: () => void
  /**
   * Called when PostgreSQL refuses a connection. Returns true to retry; otherwise queued statements may fail.
   */
  readonly onrefused?: (error: unknown) => boolean
  readonly onopened?: () => void
}

/** The pool that uses the connections. */
export interface ConnectionUser {
  /** Called when a connection may be free. */
  serve(): void
  /** Rejects all statements that wait for a connection. */
  fail(error: unknown): void
  readonly lender: Lender
}

/** The number of connections in each state. */
export interface Counts {
  /** Take new work. */
  readonly active: number
  /** Close when their statements have ended. */
  readonly retiring: number
  /** Given up; close when their backends have ended. */
  readonly givenUp: number
  /** Being opened. */
  readonly opening: number
  /** Closed a moment ago to make room for another pool's connection. */
  readonly ceded: number
}

// Limits the rate of attempts at a server that is down, starting or read-only.
const restMs = 100
// How long a pool that gave up its last connection waits: the pool it made room for tries again after
// `restMs`.
const cedeMs = 2 * restMs
// When an attempt has taken this long, a parallel one may start.
const patienceMs = 600
// The time limit of a connection that nobody waits for. Generous, so that a slow database passes.
const trialSeconds = 5

export class Connections {
  readonly #servers: Servers
  readonly #state = new PoolState((current, before) => this.#entered(current, before))
  readonly #all = new Set<Connection>()
  #opening = 0
  #overtaken = 0
  #resting = 0
  #cedes = false
  #ceded = 0
  #onTrial: Connection | undefined

  constructor(
    readonly options: ConnectionsOptions,
    readonly user: ConnectionUser,
  ) {
    this.#servers = options.servers ?? new Servers()
  }

  get state(): State {
    return this.#state.current
  }

  /** True while the database completes nothing: from a given-up connection to a successful trial. */
  get isStalled(): boolean {
    return this.state === 'stalling' || this.state === 'stalled'
  }

  get counts(): Counts {
    const all = [...this.#all]
    const active = all.filter((each) => !each.isRetiring).length
    const givenUp = all.filter((each) => each.isGivenUp).length
    return {
      active,
      retiring: all.length - active - givenUp,
      givenUp,
      opening: this.#opening,
      ceded: this.#ceded,
    }
  }

  /** How many statements have completed on each connection. */
  get completed(): ReadonlyMap<Connection, number> {
    return new Map([...this.#all].map((each) => [each, each.completed]))
  }

  /**
   * Returns the connection with the fewest statements, or undefined if none may take another.
   * @param depth the most statements of a connection
   */
  leastBusy(depth: number): Connection | undefined {
    if (this.state === 'ended') return undefined
    let best: Connection | undefined
    for (const each of this.#all) {
      if (each.isRetiring) continue
      if (each.slotsInUse < (best?.slotsInUse ?? depth)) best = each
    }
    // This statement is pipelined behind others: open a connection for the next.
    if (best !== undefined && best.slotsInUse > 0 && this.#inProgress === 0) this.#openIfPossible()
    return best
  }

  /**
   * Opens a connection if more statements wait than connections are being opened. Rejects them if none can
   * be.
   */
  openOnDemand(waiting: number): void {
    if (waiting === 0 && !this.isStalled) return
    if (waiting > 0 && this.state === 'ended') this.user.fail(ended())
    else if (waiting > 0 && this.state === 'stalled') this.user.fail(stalled())
    if (this.isStalled || waiting > this.#inProgress) this.#openIfPossible()
  }

  /** Retires the least busy connection if more than `kept` are active. Returns whether it did. */
  retireOne(kept: number): boolean {
    const active = [...this.#all].filter((each) => !each.isRetiring)
    const [leastBusy] = active.sort((a, b) => a.slotsInUse - b.slotsInUse)
    if (leastBusy === undefined || active.length <= kept) return false
    this.#cedes = active.length === 1
    this.#state.send('refused') // delays its replacement, which would take the place that was made
    leastBusy.retire()
    return true
  }

  /** Retires all connections. New ones are opened on demand. */
  retireAll(): void {
    for (const each of this.#all) each.retire()
  }

  /**
   * Opens a connection beside the others, and closes it. Rejects if a needed one would fail, except for lack
   * of a free connection slot: the server was reached, and the pool itself may hold all slots.
   */
  async tryOpening(servers = this.#servers): Promise<void> {
    const { make, readTimeoutMs } = this.options
    const patient: MakeOne = (hooks) => make({ ...hooks, connect_timeout: trialSeconds })
    try {
      const connection = await Connection.open(patient, servers.aside, readTimeoutMs, () => {})
      await connection.end(0)
    } catch (error) {
      if (!isConnectionLimit(error)) throw error
    }
  }

  /** Closes the connections after their statements, or the timeout. */
  async end(timeoutSeconds: number): Promise<void> {
    this.#state.send('ended')
    this.#onTrial?.giveUp()
    await Promise.all([...this.#all].map((each) => each.end(timeoutSeconds)))
  }

  #openIfPossible(): void {
    if (this.isStalled ? this.#mayTry() : this.#mayOpen()) void this.#open()
  }

  get #inProgress(): number {
    return this.#opening - this.#overtaken + this.#resting + (this.#onTrial === undefined ? 0 : 1)
  }

  // The first connection is opened alone: it shows whether the server is there.
  #mayOpen(): boolean {
    if (this.state === 'ended' || this.#all.size + this.#inProgress >= this.options.size) return false
    return this.counts.active === 0 ? this.#inProgress === 0 : this.state !== 'refused'
  }

  // One at a time, and at most one more than `size`: the backends of given-up connections may still be alive.
  #mayTry(): boolean {
    return this.#inProgress === 0 && this.#all.size <= this.options.size
  }

  async #open(): Promise<void> {
    const attempt = this.#startAttempt()
    try {
      await this.#add(await this.#connect(), attempt)
      attempt.end()
    } catch (error) {
      attempt.end()
      if (!this.#isToBeRetried(error) && this.counts.active === 0) this.user.fail(error)
      await this.#rest()
    }
    this.user.serve()
  }

  async #connect(): Promise<Connection> {
    const { make, readTimeoutMs, onunresponsive, isReadOnly } = this.options
    const onclosed = (closed: Connection) => this.#remove(closed)
    const connection = await Connection.open(make, this.#servers, readTimeoutMs, onclosed)
    if (isReadOnly) await connection.onlyRead(this.#servers)
    connection.ongivenup = () => this.#state.send('gaveUp')
    connection.onunresponsive = () => {
      // Behind a pooler, no backend stays: the pooler limits them.
      if (this.state === 'ended' || this.#servers.isPooled) connection.bury()
      onunresponsive?.()
    }
    return connection
  }

  async #add(connection: Connection, attempt: Attempt): Promise<void> {
    if (this.#onTrial !== undefined) return connection.bury() // a parallel attempt is on trial already
    if (this.isStalled) {
      attempt.overtake()
      await this.#try(connection)
    }
    if (connection.isClosed) throw connectionClosed()
    // Meanwhile a parallel attempt may have reached another server and retired all connections to this one.
    const isObsolete = connection.server !== this.#servers.current
    if (isObsolete || this.state === 'ended' || this.#all.size >= this.options.size) await connection.end(0)
    else this.#all.add(connection)
    connection.lend(this.user.lender)
    this.options.onopened?.()
  }

  // Ends the stall if the connection responds to the trial.
  async #try(connection: Connection): Promise<void> {
    this.#onTrial = connection
    // An error is a response, too.
    await connection.sql.unsafe(this.options.trial ?? 'select 1').catch(() => {})
    const hasFailed = connection.isGivenUp || connection.isClosed
    if (!hasFailed) this.#state.send('completed')
    this.#onTrial = undefined
    if (!hasFailed) return
    if (!connection.isClosed) this.#all.add(connection)
    throw stalled()
  }

  #entered(current: State, before: State): void {
    if (current === 'stalling') {
      this.options.onstalled?.(true)
      this.retireAll()
      this.#openIfPossible()
    } else if (current === 'stalled') this.user.fail(stalled())
    else if (current === 'open' && before === 'refused') this.user.serve()
    else if (current === 'open') this.#endStall()
  }

  // The trial has passed, so the backends of given-up connections wait for nothing any more.
  #endStall(): void {
    for (const each of this.#all) if (each.isGivenUp) each.bury()
    this.options.onstalled?.(false)
  }

  #isToBeRetried(error: unknown): boolean {
    if (!isConnectionRefused(error)) return false
    this.#state.send('refused')
    return this.options.onrefused?.(error) === true
  }

  #remove(closed: Connection): void {
    this.#all.delete(closed)
    if (closed.isReadOnly) void this.#rest().then(() => this.user.serve())
    if (this.#cedes) void this.#cede()
    this.#cedes = false
    this.user.serve() // now, because a transaction may hold on to the closed connection for long
  }

  async #cede(): Promise<void> {
    this.#ceded++
    await this.#rest(cedeMs)
    this.#ceded--
    this.user.serve()
  }

  // While it rests, it counts as an attempt in progress.
  async #rest(ms = restMs): Promise<void> {
    this.#resting++
    await delay(ms)
    this.#resting--
  }

  // If an attempt takes too long, its packets may be lost: another starts, at the next server. The first that
  // connects serves.
  #startAttempt(): Attempt {
    this.#opening++
    const [first] = this.#servers.inOrder()
    let isOvertaken = false
    const overtake = () => {
      if (!isOvertaken) this.#overtaken++
      isOvertaken = true
    }
    const timer = setTimeout(() => {
      overtake()
      this.#servers.skip(first)
      this.user.serve()
    }, patienceMs).unref()
    const end = () => {
      clearTimeout(timer)
      this.#opening--
      if (isOvertaken) this.#overtaken--
    }
    return { overtake, end }
  }
}

/** An attempt to open a connection. */
interface Attempt {
  /** From now on this attempt does not keep others from starting. */
  overtake(): void
  /** Called once. */
  end(): void
}

/** The error of a statement that was not sent because the pool is closed. */
export function ended(): Error {
  return codedError('CONNECTION_ENDED', 'the connection pool is closed')
}

function stalled(): Error {
  return codedError('CONNECTION_STALLED', 'statement not sent: the database has not completed earlier ones')
}
