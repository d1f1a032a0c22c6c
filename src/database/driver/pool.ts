// Connections to PostgreSQL and the queue in front of them. A statement is sent only while somebody waits for it: what has to
// wait here longer than its caller does is rejected when a connection is free for it, and PostgreSQL never sees it. postgres.js's own pool is not used: it
// sends whatever it is given, however late, and slows down while it is saturated (porsager/postgres issue 747).

import { unlessAborted } from '../../lib/abort.js'
import { Servers } from '../servers.js'
import { isConnectionRefused } from '../unavailable.js'
import { Connection, connectionLost, type Handle, type MakeHandle, type Query } from './connection.js'
import { createSql, type HeldConnection, type Holding, type Signal, type Sql } from './sql.js'

export interface PoolOptions {
  readonly make: MakeHandle
  /** Without them, `make` knows the one server. */
  readonly servers?: Servers
  /** Connections at the most. They are opened as they are needed. */
  readonly size: number
  /** Statements in flight on one connection: more than one are pipelined, and each waits for those before it. */
  readonly depth: number
  /** Without a byte for so long, a connection with statements in flight is replaced. */
  readonly silenceMs: number
  /** Called when one was silent: others that go the same way may be, too. Without it, the pool gives up its own. */
  readonly onsilence?: () => void
  /** Called when the database will not have another connection; whether to try again at once rather than to fail who waits. */
  readonly onrefused?: (pool: Pool, error: unknown) => boolean
  readonly onopened?: (pool: Pool) => void
}

/** Called as a statement is asked for; what it returns, when its rows are there or never will be. */
export type StatementBegins = () => () => void

// Whoever waits for a place on a connection.
interface Waiter {
  readonly signal: Signal | undefined
  begin(connection: Connection): void
  fail(error: unknown): void
}

// So that a server that is away, or only coming up, is not asked without end.
const openPauseMs = 100
// What there is serves meanwhile: a server that has no more connections to give, or does not take a login, may be short for long.
const refusedPauseMs = 1_000
// How long nothing else is tried while a connection is being opened.
const openPatienceMs = 600

export class Pool implements Holding {
  /** Statements by whichever connection has a place, for as long as anybody waits. */
  readonly sql: Sql
  readonly #template: Handle
  readonly #servers: Servers
  readonly #connections = new Set<Connection>()
  readonly #waiting: Waiter[] = []
  #opening = 0
  #openNotBefore = 0
  #refusedUntil = 0
  #isEnding = false
  #begins: StatementBegins | undefined

  constructor(readonly options: PoolOptions) {
    this.#servers = options.servers ?? new Servers()
    // Never connects: its tag makes the queries, which the connections send.
    this.#template = options.make({
      max: 1,
      onclose: () => {},
      socket: () => {
        throw connectionLost()
      },
    })
    this.sql = this.sqlUntil(undefined)
  }

  /** Statements for a caller who waits until `signal` is aborted: none is sent after that. */
  sqlUntil(signal: Signal | undefined): Sql {
    return createSql(this.#template, (query) => this.#dispatch(query, signal), { pool: this, signal })
  }

  async hold<Result>(
    signal: Signal | undefined,
    run: (held: HeldConnection) => Promise<Result>,
  ): Promise<Result> {
    const connection = await new Promise<Connection>((begin, fail) => this.#enter({ signal, begin, fail }))
    try {
      return await run({
        sqlUntil: (until) =>
          createSql(this.#template, (query) => {
            this.#watch(query)
            if (until?.aborted) query.reject(abandoned())
            else connection.send(query)
          }),
        drop: () => connection.drop(),
      })
    } finally {
      this.#leave(connection)
    }
  }

  /** Tells of every statement from now on. */
  watch(begins: StatementBegins): void {
    this.#begins = begins
  }

  /**
   * Resolves when the database has answered a statement of this pool, anybody's where this one has to wait. Rejects with what is in
   * the way, or when nothing came for so long.
   */
  async probe(timeoutMs: number): Promise<void> {
    const before = new Map([...this.#connections].map((each) => [each, each.bytesRead]))
    const late = AbortSignal.timeout(timeoutMs)
    try {
      await unlessAborted(this.sqlUntil(late)`select 1`, late)
    } catch (error) {
      const isBusy = [...this.#connections].some((each) => each.bytesRead > (before.get(each) ?? 0))
      if (!late.aborted || !isBusy) throw error
    }
  }

  /** Connections that are open and stay. */
  get count(): number {
    return [...this.#connections].filter((each) => !each.isLeaving).length
  }

  /** Gives a connection up, as soon as nobody uses it; never the last. Says whether there was one to give. */
  giveOneUp(): boolean {
    const [least, ...others] = [...this.#connections]
      .filter((each) => !each.isLeaving)
      .sort((a, b) => a.places - b.places)
    if (least === undefined || others.length === 0) return false
    least.isLeaving = true
    // Its successor would be refused, or take the place that is made here.
    this.#refusedUntil = performance.now() + refusedPauseMs
    if (least.places === 0) least.drop()
    return true
  }

  /** Gives all connections up, each as soon as nobody uses it: others are opened as they are needed. */
  giveUp(): void {
    for (const connection of this.#connections) {
      connection.isLeaving = true
      if (connection.places === 0) connection.drop()
    }
  }

  /** Ends the connections when their statements are done, or after so many seconds. Whoever waits for a place is rejected. */
  async end(timeoutSeconds: number): Promise<void> {
    this.#isEnding = true
    this.#failWaiting(ended())
    await Promise.all([...this.#connections].map((connection) => connection.end(timeoutSeconds)))
    await this.#template.end()
  }

  #dispatch(query: Query, signal: Signal | undefined): void {
    this.#watch(query)
    this.#enter({
      signal,
      begin: (connection) => {
        const leave = () => this.#leave(connection)
        query.then(leave, leave)
        connection.send(query)
      },
      fail: (error) => query.reject(error),
    })
  }

  #watch(query: Query): void {
    const ends = this.#begins?.()
    if (ends !== undefined) query.then(ends, ends)
  }

  #enter(waiter: Waiter): void {
    if (this.#isEnding) {
      waiter.fail(ended())
    } else {
      this.#waiting.push(waiter)
      this.#serve()
    }
  }

  #leave(connection: Connection): void {
    connection.places--
    if (connection.isLeaving && connection.places === 0) connection.drop()
    this.#serve()
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#connectionWithPlace()
      if (connection === undefined) break
      const waiter = this.#waiting.shift() as Waiter // there is one
      if (waiter.signal?.aborted) {
        waiter.fail(abandoned())
        continue
      }
      connection.places++
      waiter.begin(connection)
    }
    if (this.#waiting.length > this.#opening) void this.#openAnother()
  }

  #connectionWithPlace(): Connection | undefined {
    let best: Connection | undefined
    for (const connection of this.#connections) {
      if (connection.isLeaving) continue
      if (connection.places < (best?.places ?? this.options.depth)) best = connection
    }
    // Rather than to pipeline behind others, the next statement will have a connection of its own.
    if (best !== undefined && best.places > 0 && this.#opening === 0) void this.#openAnother()
    return best
  }

  async #openAnother(): Promise<void> {
    const { size, make, silenceMs } = this.options
    if (this.#isEnding || this.#connections.size + this.#opening >= size) return
    if (this.#connections.size > 0 && performance.now() < this.#refusedUntil) return
    const attempt = this.#beginOpening()
    try {
      await this.#pause()
      const connection = await Connection.open(make, this.#servers, silenceMs, (lost) => this.#forget(lost))
      if (this.#isEnding || this.#connections.size === size) await connection.end(0)
      else if (!connection.isLost) this.#connections.add(connection)
      this.options.onopened?.(this)
    } catch (error) {
      this.#openNotBefore = performance.now() + openPauseMs
      if (!this.#isToBeTriedAgain(error) && this.#connections.size === 0) this.#failWaiting(error)
    } finally {
      attempt.end()
    }
    this.#serve()
  }

  #isToBeTriedAgain(error: unknown): boolean {
    if (!isConnectionRefused(error)) return false
    this.#refusedUntil = performance.now() + refusedPauseMs
    return this.options.onrefused?.(this, error) === true
  }

  #forget(lost: Connection): void {
    this.#connections.delete(lost)
    if (lost.isReadOnly) this.#openNotBefore = performance.now() + openPauseMs
    if (!lost.isSilent) return
    if (this.options.onsilence === undefined) this.giveUp()
    else this.options.onsilence()
  }

  // An attempt that gets no answer may be lost, and is no longer waited for: another may begin, and the first of them serves.
  #beginOpening(): { end(): void } {
    this.#opening++
    const [first] = this.#servers.inTurn()
    let isWaitedFor = true
    const end = () => {
      clearTimeout(timer)
      if (isWaitedFor) this.#opening--
      isWaitedFor = false
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

  #failWaiting(error: unknown): void {
    for (const waiter of this.#waiting.splice(0)) waiter.fail(error)
  }
}

/** The error of a statement that was not sent, because nobody waits for it any more. */
export function abandoned(): Error {
  return Object.assign(new Error('nobody waits for the statement any more'), { code: 'STATEMENT_ABANDONED' })
}

function ended(): Error {
  return Object.assign(new Error('the connections to the database are closed'), { code: 'CONNECTION_ENDED' })
}
