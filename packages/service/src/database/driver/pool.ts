// A connection pool with a queue. It never sends a statement whose caller stopped waiting while it was
// queued. postgres.js's own pool sends every statement, however late, and slows down when it is saturated
// (porsager/postgres issue 747).

import { unlessAborted } from '../../lib/abort.js'
import { singleFlight } from '../../lib/shared-calls.js'
import type { Servers } from '../servers.js'
import { isReadOnly, isUnavailable } from '../unavailable.js'
import {
  abandoned,
  type Connection,
  connectionClosed,
  observe,
  type StatementObserver,
} from './connection.js'
import { Connections, type ConnectionsOptions, type Counts, ended } from './connections.js'
import { limitWait } from './limit-wait.js'
import {
  type ConnectionSource,
  createSql,
  type HeldConnection,
  type Probe,
  type RootSql,
  type Signal,
  type Sql,
  type Statement,
} from './sql.js'

export interface PoolOptions extends ConnectionsOptions {
  /** The most statements in flight on a connection. They are pipelined: each waits for those before it. */
  readonly depth: number
  /** How long a pipelined statement may take, from when its caller asked. */
  readonly limitMs?: number | undefined
}

// A statement or transaction that waits for a slot of a connection.
interface Waiter {
  readonly signal: Signal | undefined
  start(connection: Connection): void
  fail(error: unknown): void
}

export class Pool implements ConnectionSource {
  /** A tag for statements that are sent however long they wait. */
  readonly sql: Sql
  readonly probes = new Set<Probe>()
  /** Called for every statement. */
  observer: StatementObserver | undefined
  readonly #template: RootSql
  readonly #connections: Connections
  readonly #queue: Waiter[] = []

  constructor(readonly options: PoolOptions) {
    this.#connections = new Connections(options, {
      serve: () => this.#serve(),
      fail: (error) => this.#fail(error),
      lender: this,
    })
    // Never connects. It only builds queries, which the connections send.
    this.#template = options.make({
      max: 1,
      onclose: () => {},
      socket: () => {
        throw connectionClosed()
      },
    })
    this.sql = this.sqlUntil(undefined)
  }

  sqlUntil(signal: Signal | undefined): Sql {
    const source = { pool: this, signal, probes: this.probes }
    return createSql(this.#template, (statement) => this.dispatch(statement, signal), source)
  }

  sqlBy(dispatch: (statement: Statement) => void): Sql {
    const { probes } = this
    return createSql(this.#template, dispatch, { probes })
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
   * Checks in two steps whether the pool works: it completes a statement, and the database accepts `probes`.
   * A step that takes `timeoutMs` passes if any statement of the pool has completed since it began; a failed
   * statement does not count. Resolves with undefined, or with the error of a refused probe if others were
   * accepted. Rejects with the error of the connection, the first refusal if all were refused, or a timeout.
   */
  async probe(timeoutMs: number): Promise<Error | undefined> {
    const timeout = AbortSignal.timeout(timeoutMs)
    await this.#orOthers(this.sqlUntil(timeout)`select 1`, timeout)
    return this.#orOthers(this.#runProbes(), AbortSignal.timeout(timeoutMs))
  }

  async #orOthers<Result>(step: Promise<Result>, timeout: AbortSignal): Promise<Result | undefined> {
    const before = this.#connections.completed
    try {
      return await unlessAborted(step, timeout)
    } catch (error) {
      const now = [...this.#connections.completed]
      const hasCompleted = now.some(([each, count]) => count > (before.get(each) ?? 0))
      if (!timeout.aborted || !hasCompleted) throw error
      return undefined
    }
  }

  // One run at a time: while a table is locked, each run keeps a connection until its statement times out.
  readonly #runProbes = singleFlight(async () => {
    const refusals: Error[] = []
    const run = async (probe: Probe) => {
      const error = await probe(this.sql).then(noError, (reason) => this.#refusalOf(reason))
      if (error !== undefined) refusals.push(error)
    }
    if (this.options.depth > 1) await Promise.all([...this.probes].map(run))
    else for (const probe of this.probes) await run(probe)
    if (refusals.length === this.probes.size && refusals.length > 0) throw refusals[0]
    return refusals[0]
  })

  // Ignores errors that say nothing of the database: a probe that needs input, a write in a read-only
  // session.
  #refusalOf(error: unknown): Error | undefined {
    const isOwn = this.options.isReadOnly === true && isReadOnly(error)
    return isUnavailable(error) && !isOwn ? (error as Error) : undefined
  }

  get limitMs(): number | undefined {
    return this.options.limitMs
  }

  get counts(): Counts {
    return this.#connections.counts
  }

  /**
   * True from the moment a connection is given up until a new one gets a response to the trial. Meanwhile the
   * pool sends no other statement, and has at most one connection more than `size`, because the backends of
   * given-up connections may still be alive.
   */
  get isStalled(): boolean {
    return this.#connections.isStalled
  }

  /** Retires the least busy connection if more than `kept` are active. Returns whether it did. */
  retireOne(kept = 1): boolean {
    return this.#connections.retireOne(kept)
  }

  /** Retires all connections. New ones are opened on demand. */
  retireAll(): void {
    this.#connections.retireAll()
  }

  /**
   * Opens a connection beside those of the pool, and closes it.
   * @param servers default: those of the pool
   */
  tryOpening(servers?: Servers): Promise<void> {
    return this.#connections.tryOpening(servers)
  }

  /** Rejects queued statements. Closes the connections after their statements, or the timeout. */
  async end(timeoutSeconds: number): Promise<void> {
    const closed = this.#connections.end(timeoutSeconds)
    this.#fail(ended())
    await closed
    await this.#template.end()
  }

  dispatch(statement: Statement, signal: Signal | undefined): void {
    if (this.observer !== undefined) observe(statement, this.observer)
    statement.askedAt = performance.now()
    this.#enqueue({
      signal,
      start: (connection) => {
        const release = () => this.#release(connection)
        connection.send(statement)
        statement.then(release, release)
      },
      fail: (error) => statement.reject(error),
    })
  }

  #enqueue(waiter: Waiter): void {
    this.#queue.push(waiter)
    this.#serve()
    if (this.#queue.at(-1) !== waiter) return
    const waitMs = waiter.signal?.waitMs ?? this.limitMs
    if (waitMs !== undefined) limitWait(this.#queue, waiter, waitMs, (error) => waiter.fail(error))
  }

  #release(connection: Connection): void {
    connection.slotsInUse--
    if (connection.isRetiring && connection.slotsInUse === 0) connection.destroy()
    this.#serve()
  }

  #serve(): void {
    while (this.#queue.length > 0) {
      const connection = this.#connections.leastBusy(this.options.depth)
      if (connection === undefined) break
      const waiter = this.#queue.shift() as Waiter // the queue is not empty
      if (waiter.signal?.aborted) {
        waiter.fail(abandoned())
        continue
      }
      connection.slotsInUse++
      waiter.start(connection)
    }
    this.#connections.openOnDemand(this.#queue.length)
  }

  #fail(error: unknown): void {
    for (const waiter of this.#queue.splice(0)) waiter.fail(error)
  }
}

function noError(): undefined {}
