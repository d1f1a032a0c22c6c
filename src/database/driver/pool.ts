// A connection pool with a queue. A statement whose caller stops waiting while it is queued is rejected when
// a connection becomes free, and never sent. postgres.js's own pool is not used: it sends every statement,
// however late, and slows down when it is saturated (porsager/postgres issue 747).

import { unlessAborted } from '../../lib/abort.js'
import { singleFlight } from '../../lib/shared-calls.js'
import { Servers } from '../servers.js'
import { codedError, isConnectionRefused, isReadOnly, isUnavailable } from '../unavailable.js'
import {
  abandoned,
  Connection,
  connectionClosed,
  type MakeOne,
  observe,
  type StatementObserver,
} from './connection.js'
import {
  type ConnectionSource,
  createSql,
  type HeldConnection,
  type Probe,
  type Query,
  type RootSql,
  type Signal,
  type Sql,
} from './sql.js'

export interface PoolOptions {
  readonly make: MakeOne
  /** By default the one server that `make` connects to. */
  readonly servers?: Servers
  /** The most connections. They are opened on demand. */
  readonly size: number
  /** The most statements in flight on a connection. They are pipelined: each waits for those before it. */
  readonly depth: number
  /** A connection with statements in flight is given up after so long without a byte. */
  readonly readTimeoutMs: number
  /** The statement that ends a stall: see `isStalled`. By default one that reads nothing. */
  readonly trial?: string
  /** Called when a stall begins and ends. */
  readonly onstalled?: (isStalled: boolean) => void
  /** Called when a given-up connection does not respond to a cancel request: others may be lost, too. */
  readonly onunresponsive?: () => void
  /** Called when PostgreSQL refuses a connection. Returns whether to retry, or queued statements may fail. */
  readonly onrefused?: (pool: Pool, error: unknown) => boolean
  readonly onopened?: (pool: Pool) => void
}

// A statement or transaction that waits for a slot on a connection.
interface Waiter {
  readonly signal: Signal | undefined
  start(connection: Connection): void
  fail(error: unknown): void
}

// Limits the rate of attempts at a server that is down or starting.
const openPauseMs = 100
// After a refusal (too many connections, a rejected login) with other connections: the cause may last.
const refusedPauseMs = 1_000
// After so long without a connection a parallel attempt may start, and after so long in a stall statements
// are rejected.
const openPatienceMs = 600
// For the response to a cancel request.
const cancelMs = 200
const trialPauseMs = 500

export class Pool implements ConnectionSource {
  /** Statements on any connection with a free slot, without a caller that may stop waiting. */
  readonly sql: Sql
  readonly probes = new Set<Probe>()
  /** Told of every statement. */
  observer: StatementObserver | undefined
  readonly #template: RootSql
  readonly #servers: Servers
  readonly #connections = new Set<Connection>()
  readonly #queue: Waiter[] = []
  #opening = 0
  #openNotBefore = 0
  #refusedUntil = 0
  #isEnding = false
  #stalledAt: number | undefined
  #onTrial: Connection | undefined
  #bytesBefore: ReadonlyMap<Connection, number> = new Map()

  constructor(readonly options: PoolOptions) {
    this.#servers = options.servers ?? new Servers()
    // Never connects: it only builds queries, which the connections send.
    this.#template = options.make({
      max: 1,
      onclose: () => {},
      socket: () => {
        throw connectionClosed()
      },
    })
    this.sql = this.sqlUntil(undefined)
  }

  /** Statements for a caller that waits until `signal` is aborted: none is sent after that. */
  sqlUntil(signal: Signal | undefined): Sql {
    const source = { pool: this, signal, probes: this.probes }
    return createSql(this.#template, (query) => this.#dispatch(query, signal), source)
  }

  async hold<Result>(
    signal: Signal | undefined,
    run: (held: HeldConnection) => Promise<Result>,
  ): Promise<Result> {
    const connection = await new Promise<Connection>((start, fail) => this.#enqueue({ signal, start, fail }))
    try {
      return await run(connection)
    } finally {
      this.#release(connection)
    }
  }

  /**
   * Resolves when the database answers a statement of this pool, a probe's own or, if the probe has to queue,
   * any other, and accepts the statements of `probes`. Rejects with the error of the connection or of such a
   * statement, or after `timeoutMs` without a byte.
   */
  async probe(timeoutMs: number): Promise<void> {
    const timeout = AbortSignal.timeout(timeoutMs)
    this.#bytesBefore = this.#bytesRead()
    try {
      await unlessAborted(this.sqlUntil(timeout)`select 1`, timeout)
      this.#bytesBefore = this.#bytesRead()
      await unlessAborted(this.#runProbes(), timeout)
    } catch (error) {
      const isBusy = [...this.#bytesRead()].some(
        ([each, bytes]) => bytes > (this.#bytesBefore.get(each) ?? 0),
      )
      if (!timeout.aborted || !isBusy) throw error
    }
  }

  // One run at a time: while a table is locked, each would keep a connection until its statement times out.
  readonly #runProbes = singleFlight(async () => {
    for (const probe of this.probes) {
      this.#bytesBefore = this.#bytesRead()
      await probe(this.sql).catch(unlessServed)
    }
  })

  #bytesRead(): Map<Connection, number> {
    return new Map([...this.#connections].map((each) => [each, each.bytesRead]))
  }

  /** Open connections that are not retiring. */
  get count(): number {
    return this.#active().length
  }

  /**
   * Whether a connection was given up, and no new one has had a response to the trial since. Meanwhile the
   * pool sends no other statement, and has at most one connection more than `size`: the backends of those
   * that were given up may still live.
   */
  get isStalled(): boolean {
    return this.#stalledAt !== undefined
  }

  /** Retires the least busy connection, but never the last. Returns whether it did. */
  retireOne(): boolean {
    const [leastBusy, ...others] = this.#active().sort((a, b) => a.slotsInUse - b.slotsInUse)
    if (leastBusy === undefined || others.length === 0) return false
    // Not replaced at once: PostgreSQL would refuse, or give this pool what another one needs.
    this.#refusedUntil = performance.now() + refusedPauseMs
    leastBusy.retire()
    return true
  }

  /** Retires all connections. New ones are opened on demand. */
  retireAll(): void {
    for (const connection of this.#connections) connection.retire()
  }

  /** Rejects queued statements. Closes the connections after their statements, or the timeout. */
  async end(timeoutSeconds: number): Promise<void> {
    this.#isEnding = true
    this.#failQueued(ended())
    this.#onTrial?.giveUp()
    await Promise.all([...this.#connections].map((connection) => connection.end(timeoutSeconds)))
    await this.#template.end()
  }

  #active(): Connection[] {
    return [...this.#connections].filter((each) => !each.isRetiring)
  }

  #dispatch(query: Query, signal: Signal | undefined): void {
    observe(query, this.observer)
    this.#enqueue({
      signal,
      start: (connection) => {
        const release = () => this.#release(connection)
        query.then(release, release)
        connection.send(query)
      },
      fail: (error) => query.reject(error),
    })
  }

  #enqueue(waiter: Waiter): void {
    if (this.#isEnding) {
      waiter.fail(ended())
    } else if (this.#stalledAt !== undefined && performance.now() > this.#stalledAt + openPatienceMs) {
      waiter.fail(stalled())
    } else {
      this.#queue.push(waiter)
      this.#serve()
    }
  }

  #release(connection: Connection): void {
    connection.slotsInUse--
    if (connection.isRetiring && connection.slotsInUse === 0) connection.destroy()
    this.#serve()
  }

  #serve(): void {
    while (this.#queue.length > 0) {
      const connection = this.#leastBusy()
      if (connection === undefined) break
      const waiter = this.#queue.shift() as Waiter // the queue is not empty
      if (waiter.signal?.aborted) {
        waiter.fail(abandoned())
        continue
      }
      connection.slotsInUse++
      waiter.start(connection)
    }
    if (this.isStalled || this.#queue.length > this.#opening) void this.#openAnother()
  }

  // The connection with the most free slots, or undefined if all are full.
  #leastBusy(): Connection | undefined {
    let best: Connection | undefined
    for (const connection of this.#connections) {
      if (connection.isRetiring) continue
      if (connection.slotsInUse < (best?.slotsInUse ?? this.options.depth)) best = connection
    }
    // This statement is pipelined behind others: open a connection for the next.
    if (best !== undefined && best.slotsInUse > 0 && this.#opening === 0) void this.#openAnother()
    return best
  }

  async #openAnother(): Promise<void> {
    const { size, make, readTimeoutMs } = this.options
    if (this.#isEnding || this.#isFull()) return
    if (this.count > 0 && performance.now() < this.#refusedUntil) return
    const attempt = this.#startAttempt()
    try {
      await this.#pause()
      const onclosed = (connection: Connection) => this.#remove(connection)
      const connection = await Connection.open(make, this.#servers, readTimeoutMs, onclosed)
      connection.lender = this
      connection.ongivenup = (connection) => this.#stall(connection)
      if (this.isStalled) {
        attempt.end()
        await this.#try(connection)
      }
      if (this.#isEnding || this.#connections.size >= size) await connection.end(0)
      else if (!connection.isClosed) this.#connections.add(connection)
      this.options.onopened?.(this)
    } catch (error) {
      this.#openNotBefore = Math.max(this.#openNotBefore, performance.now() + openPauseMs)
      if (!this.#isToBeRetried(error) && this.count === 0) this.#failQueued(error)
    } finally {
      attempt.end()
    }
    this.#serve()
  }

  #isFull(): boolean {
    const { size } = this.options
    if (!this.isStalled) return this.#connections.size + this.#opening >= size
    return this.#opening > 0 || this.#onTrial !== undefined || this.#connections.size > size
  }

  #stall(givenUp: Connection): void {
    const isAlone = this.#isEnding || this.#servers.isPooled // a pooler limits the backends itself
    setTimeout(() => {
      if (givenUp.isClosed) return
      if (isAlone) givenUp.bury()
      this.options.onunresponsive?.()
    }, cancelMs).unref()
    if (this.isStalled || this.#isEnding) return
    this.#stalledAt = performance.now()
    this.options.onstalled?.(true)
    this.retireAll()
    setTimeout(() => this.isStalled && this.#failQueued(stalled()), openPatienceMs).unref()
    void this.#openAnother()
  }

  // Ends the stall if the connection responds to the trial. Then the backends of those that were given up
  // no longer wait for what the trial would have waited for.
  async #try(connection: Connection): Promise<void> {
    if (this.#onTrial !== undefined) return connection.bury() // of parallel attempts, one is enough
    this.#onTrial = connection
    const { unsafe } = createSql(this.#template, (query) => connection.send(query))
    await unsafe(this.options.trial ?? 'select 1').catch(() => {}) // an error is a response, too
    this.#onTrial = undefined
    if (connection.isGivenUp) {
      if (!connection.isClosed) this.#connections.add(connection)
      this.#openNotBefore = performance.now() + trialPauseMs
    }
    if (connection.isGivenUp || connection.isClosed) throw stalled()
    this.#stalledAt = undefined
    for (const each of this.#connections) if (each.isGivenUp) each.bury()
    this.options.onstalled?.(false)
  }

  #isToBeRetried(error: unknown): boolean {
    if (!isConnectionRefused(error)) return false
    this.#refusedUntil = performance.now() + refusedPauseMs
    return this.options.onrefused?.(this, error) === true
  }

  #remove(closed: Connection): void {
    this.#connections.delete(closed)
    if (closed.isReadOnly) this.#openNotBefore = performance.now() + openPauseMs
    if (this.isStalled) this.#serve()
  }

  // Counts an attempt as opening until it ends or has run for `openPatienceMs`. Its packets may be lost, so
  // then another may start, at the next server; the first to connect serves.
  #startAttempt(): { end(): void } {
    this.#opening++
    const [first] = this.#servers.inOrder()
    let isCounted = true
    const end = () => {
      clearTimeout(timer)
      if (isCounted) this.#opening--
      isCounted = false
    }
    const timer = setTimeout(() => {
      end()
      this.#servers.skip(first)
      this.#serve()
    }, openPatienceMs).unref()
    return { end }
  }

  async #pause(): Promise<void> {
    const ms = this.#openNotBefore - performance.now()
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
  }

  #failQueued(error: unknown): void {
    for (const waiter of this.#queue.splice(0)) waiter.fail(error)
  }
}

// A read-only database still serves reads. A statement that cannot run without input says nothing of the
// database.
function unlessServed(error: unknown): void {
  if (isUnavailable(error) && !isReadOnly(error)) throw error
}

function stalled(): Error {
  return codedError('CONNECTION_STALLED', 'statement not sent: the database has not completed earlier ones')
}

function ended(): Error {
  return codedError('CONNECTION_ENDED', 'the connection pool is closed')
}
