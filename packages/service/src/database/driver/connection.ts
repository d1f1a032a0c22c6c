// One connection to PostgreSQL: a postgres.js with `max: 1` that is never reused after its connection closes.
// postgres.js 3.4.9 reconnects, but not after every kind of close (porsager/postgres issues 1154 and
// 1208): unsent data stays in its buffer, and some queries never settle. Here, those in flight are rejected.

import type { Socket } from 'node:net'
import type postgres from 'postgres'
import { afterReading } from '../../lib/clock.js'
import type { PostgresServer, ServerState, Servers } from '../servers.js'
import { ServerTls } from '../tls.js'
import {
  codedError,
  connectFailure,
  isConnectionRefused,
  isReadOnly,
  isTimedOut,
  reasonsOf,
} from '../unavailable.js'
import { createSocket, type Target } from './socket.js'
import {
  createSql,
  type HeldConnection,
  Helper,
  type Probe,
  type Result,
  type RootSql,
  type Signal,
  type Sql,
  Statement,
} from './sql.js'

/** The postgres.js options that a connection sets. */
export interface ConnectionHooks extends PostgresServer {
  readonly max: 1
  /** For the first response. */
  readonly connect_timeout?: number
  readonly onclose: () => void
  /** Missing from postgres.js's types. */
  readonly socket: (target: Target) => Socket
}

export type MakeOne = (hooks: ConnectionHooks) => RootSql

// Between looks at whether the server has sent something on a connection that was given up.
const pollMs = 25
// For the response to a cancel request.
const cancelMs = 200

export class Connection implements HeldConnection {
  /** Statements for whoever waits until they are done. Made once, as a batch needs nothing else. */
  sql: Sql
  #lender: Lender = { probes: new Set(), observer: undefined }
  /** Called when the connection is given up. */
  ongivenup = () => {}
  /** Called when the server does not respond to the cancel request that follows. */
  onunresponsive = () => {}
  /** Statements and transactions assigned to this connection. The pool counts them. */
  slotsInUse = 0
  /** No new work; the pool closes the connection when it is idle. */
  isRetiring = false
  /** No byte arrived in time for the statements in flight. They are rejected, but may still run. */
  isGivenUp = false
  /** The statements that it has completed. */
  completed = 0
  /** A statement failed as read-only, and should not have: the server is no longer a primary. */
  isReadOnly = false
  #onlyReads = false
  #server: PostgresServer | undefined
  readonly #postgres: RootSql
  readonly #inFlight = new Set<Statement>()
  readonly #readTimer: NodeJS.Timeout
  #poll: NodeJS.Timeout | undefined
  #cancelTimer: NodeJS.Timeout | undefined
  #backend: Backend | undefined
  #socket: Socket | undefined
  #isClosed = false
  #cancels = false

  private constructor(
    make: MakeOne,
    readTimeoutMs: number,
    readonly onclosed: (connection: Connection) => void,
  ) {
    const onclose = () => {
      this.#close()
      // Not earlier: over TLS it would write to a socket that is being destroyed, which nothing catches.
      void this.#postgres.end({ timeout: 0 })
    }
    this.#postgres = make({ max: 1, onclose, socket: (target) => this.#connect(target) })
    this.sql = this.sqlUntil(undefined)
    this.#readTimer = setTimeout(() => this.#checkResponsive(), readTimeoutMs).unref()
  }

  /**
   * Connects to the first server that `servers` accepts. Rejects if there is none, with the error of each and
   * the code of the most telling one.
   * @param readTimeoutMs longer than any statement may take: after so long without a byte, the connection is
   * given up if statements are in flight
   * @param onclosed called once, when the connection has closed
   */
  static async open(
    make: MakeOne,
    servers: Servers,
    readTimeoutMs: number,
    onclosed: (connection: Connection) => void,
  ): Promise<Connection> {
    const failures: Failure[] = []
    for (const server of servers.inOrder()) {
      const connection = new Connection((hooks) => make({ ...hooks, ...server }), readTimeoutMs, onclosed)
      try {
        const state = await connection.#queryState(servers)
        servers.accept(server, state, connection.#postgres.options)
        connection.#server = server
        return connection
      } catch (thrown) {
        connection.bury()
        const { ssl, password } = server
        const error = thrown as Failure
        if (ssl instanceof ServerTls) ssl.explain(error)
        if (typeof password === 'function') password.explain(error)
        servers.failed(server, error)
        failures.push(error)
      }
    }
    throw connectFailure(joined(failures))
  }

  // postgres.js would reconnect for its queued queries, endlessly if the server hangs up at once.
  #connect(target: Target): Socket {
    const isExpected = this.#socket === undefined || this.isGivenUp || this.#cancels // for the cancel request
    if (this.#isClosed || !isExpected) throw connectionClosed()
    const socket = createSocket(target)
    this.#socket ??= socket
    return socket
  }

  async #queryState({ stateStatement }: Servers): Promise<ServerState | undefined> {
    const rows = await this.sql.unsafe<StateRow[]>(stateStatement)
    const [row] = rows
    this.#backend = rows.state
    return row && { ...row, isPooled: row.pid !== rows.state.pid }
  }

  /**
   * For statements that only read: one that writes is at fault, not the server. Makes the session read-only,
   * but a pooler's, which others use, too.
   */
  async onlyRead({ isPooled }: Servers): Promise<void> {
    this.#onlyReads = true
    if (isPooled) return
    try {
      await this.sql.unsafe('set default_transaction_read_only = on')
    } catch (error) {
      this.bury()
      throw error
    }
  }

  /** The one of its servers that it reached. */
  get server(): PostgresServer | undefined {
    return this.#server
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * PostgreSQL counts the time of a statement from its turn, but its caller from when it asked: those behind
   * one that has timed out are cancelled as their time is over, too. Otherwise they would run on for callers
   * who have their 503. Nothing else is sent here, since a cancel request names no statement.
   */
  #cancelOverdue(limitMs: number): void {
    const [next] = this.#inFlight
    if (next === undefined || this.#backend === undefined || this.isGivenUp) return
    this.retire()
    const restMs = limitMs - (performance.now() - (next.askedAt ?? 0))
    const cancel = () => {
      const [first] = this.#inFlight
      if (first === next && !this.isGivenUp && !this.#isClosed) this.#sendCancel()
    }
    if (restMs <= 0) cancel()
    else setTimeout(cancel, restMs).unref()
  }

  /** Sends a statement behind those in flight: CONNECTION_CLOSED if it closes before the result. */
  send(statement: Statement): void {
    if (this.#isClosed || this.isGivenUp) {
      statement.reject(connectionClosed())
      return
    }
    if (this.#inFlight.size === 0) this.#readTimer.refresh()
    this.#inFlight.add(statement)
    statement.askedAt ??= performance.now()
    this.#corkUntilNextTick()
    const query = queryOf(this.#postgres, statement)
    // postgres.js 3.4.9 counts rows on the connection, and not from 0 again when a statement has failed
    // behind its first row (porsager/postgres issues 1119 and 1181): the next would get its rows behind
    // holes. So each result collects its own.
    query.forEach(collect).then(
      (result) => this.#completed(statement, result),
      (error) => this.#failed(statement, error),
    )
  }

  // What lacks a row that the server has counted is no result, and whatever follows on the connection may be
  // another statement's.
  #completed(statement: Statement, result: Result): void {
    this.#settled(statement)
    if (isWhole(result)) {
      this.completed++
      statement.resolve(result)
      return
    }
    statement.reject(codedError('CONNECTION_CLOSED', 'a result had other rows than the database has counted'))
    this.bury()
  }

  #failed(statement: Statement, error: unknown): void {
    this.#settled(statement)
    if (isReadOnly(error) && !this.#onlyReads) this.#leaveReadOnly()
    const { limitMs } = this.#lender
    if (limitMs !== undefined && isTimedOut(error)) this.#cancelOverdue(limitMs)
    statement.reject(error)
  }

  #settled(statement: Statement): void {
    this.#inFlight.delete(statement)
    if (!this.#isClosed) this.#readTimer.refresh()
  }

  #leaveReadOnly(): void {
    this.isReadOnly = true
    this.retire()
  }

  /** From now on, its statements are those of the pool that lends it. */
  lend(lender: Lender): void {
    this.#lender = lender
    this.sql = this.sqlUntil(undefined)
  }

  sqlUntil(signal: Signal | undefined): Sql {
    return this.sqlBy((statement) => {
      if (signal?.aborted) statement.reject(abandoned())
      else this.send(statement)
    })
  }

  sqlBy(dispatch: (statement: Statement) => void): Sql {
    const lender = this.#lender
    const observing = (statement: Statement) => {
      if (lender.observer !== undefined) observe(statement, lender.observer)
      dispatch(statement)
    }
    return createSql(this.#postgres, observing, { probes: lender.probes })
  }

  // Pipelined statements share one write, which wakes PostgreSQL. postgres.js joins only those below 1 kB. It
  // writes them in microtasks, as this is one, so before the next tick.
  #corkUntilNextTick(): void {
    const socket = this.#socket
    socket?.cork()
    process.nextTick(() => socket?.uncork())
  }

  /** Takes no new work from now on, and closes when idle. */
  retire(): void {
    this.isRetiring = true
    if (this.slotsInUse === 0) this.destroy()
  }

  /** Closes the connection at once; one that was given up, when its backend has finished. */
  destroy(): void {
    if (!this.isGivenUp) this.bury()
  }

  /** Closes the connection at once, whatever its backend does. */
  bury(): void {
    this.#socket?.destroy()
    this.#close()
  }

  /** Closes the connection when its statements have finished, or after the timeout. */
  async end(timeoutSeconds: number): Promise<void> {
    await this.#postgres.end({ timeout: this.isGivenUp ? 0 : timeoutSeconds })
    this.bury()
  }

  /**
   * Rejects the statements in flight, whose outcome is unknown, and sends a cancel request: a commit that
   * waits for a synchronous standby has no other time limit, and is kept. The next byte tells that the
   * backend has finished, and closes the connection.
   */
  giveUp(): void {
    if (this.#isClosed || this.isGivenUp) return
    this.isGivenUp = true
    this.isRetiring = true
    for (const statement of this.#inFlight) statement.reject(connectionClosed())
    const bytesRead = this.#socket?.bytesRead
    this.#poll = setInterval(() => this.#socket?.bytesRead !== bytesRead && this.bury(), pollMs).unref()
    this.#sendCancel()
    this.#cancelTimer = setTimeout(() => this.onunresponsive(), cancelMs).unref()
    this.ongivenup()
  }

  // Not by `cancel` of a query: an error of its connection would be one that nothing catches.
  #sendCancel(): void {
    if (this.#backend === undefined) return
    this.#cancels = true
    const { canceller } = this.#postgres`` as unknown as Cancelling // each query has it; its types do not
    canceller({ active: true, state: this.#backend }).catch(() => {})
  }

  #checkResponsive(): void {
    if (this.#inFlight.size === 0) return // `send` restarts the timer
    const bytesRead = this.#socket?.bytesRead
    afterReading(() => {
      if (this.#inFlight.size > 0 && this.#socket?.bytesRead === bytesRead) this.giveUp()
      else if (!this.#isClosed) this.#readTimer.refresh()
    })
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#readTimer)
    clearInterval(this.#poll)
    clearTimeout(this.#cancelTimer)
    for (const statement of this.#inFlight) statement.reject(connectionClosed())
    if (this.#socket === undefined) void this.#postgres.end({ timeout: 0 })
    this.onclosed(this)
  }
}

type StateRow = Omit<ServerState, 'isPooled'> & { readonly pid: number }

/** A backend's pid, and the secret of its cancel requests. */
type Backend = postgres.State

// A query that is never awaited.
interface Cancelling {
  /** Sends a cancel request for what a backend does, over a connection of its own. */
  canceller(query: { readonly active: true; readonly state: Backend }): Promise<void>
}

/** What a connection is used for. */
export interface Lender {
  readonly probes: Set<Probe>
  readonly observer: StatementObserver | undefined
  /** How long a statement that others are pipelined with may take from when it was asked for. */
  readonly limitMs?: number | undefined
}

/** Called when a statement is queued or sent. Returns a function to call when it settles. */
export type StatementObserver = () => () => void

/** Reports a statement to an observer. */
export function observe(statement: Statement, observer: StatementObserver): void {
  const settled = observer()
  statement.then(settled, settled)
}

/** Aborted once its work is over, or with the signal of the work's caller. */
export class WorkSignal implements Signal {
  #isOver = false
  #caller: Signal | undefined

  constructor(caller: Signal | undefined) {
    this.#caller = caller
  }

  get aborted(): boolean {
    return this.#isOver || this.#caller?.aborted === true
  }

  // Lets go of the caller: statements refer to this object, and V8 keeps many of them, and so
  // their requests, until a full garbage collection. A class, not an object with a getter: V8 gives each
  // such object a hidden class, which refers to the getter.
  end(): void {
    this.#isOver = true
    this.#caller = undefined
  }
}

type Query = postgres.PendingQuery<postgres.Row[]>

/** The query of a statement, which postgres.js sends once it is awaited; of a part, it is not. */
function queryOf(sql: RootSql, { text, args, options, form }: Statement): Query {
  const query: Query =
    typeof text === 'string'
      ? sql.unsafe(text, args as never[], options) // what `unsafe` of a tag has been given
      : sql(text, ...(args.map((each) => parameterOf(sql, each)) as never[])) // and the tag
  return form === undefined ? query : (query[form]() as Query)
}

// postgres.js infers int8 for an array of bigint. With type 0, PostgreSQL infers the array type.
function parameterOf(sql: RootSql, arg: unknown): unknown {
  if (typeof arg !== 'object') return arg
  return Array.isArray(arg) && typeof arg[0] === 'bigint' ? sql.typed(arg, 0) : partOf(sql, arg)
}

// postgres.js knows only its own queries and helpers as parts of a query: in lists and rows, too.
function partOf(sql: RootSql, part: unknown): unknown {
  if (part instanceof Statement) return queryOf(sql, part)
  if (part instanceof Helper) return Reflect.apply(sql, undefined, [partOf(sql, part.first), ...part.rest])
  if (Array.isArray(part)) return part.some(isObject) ? part.map((each) => partOf(sql, each)) : part
  if (!isObject(part) || Object.getPrototypeOf(part) !== Object.prototype) return part
  return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, partOf(sql, each)]))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

const collect = (row: postgres.Row, result: postgres.Row[]) => void result.push(row)

// The count of a command tag, such as `SELECT 5`. A few have none (SHOW), or count what they do not return.
function isWhole(result: Result): boolean {
  return ('count' in result ? [result] : result).every(
    ({ length, count, columns }) => (count ?? length) === length || !(columns?.length > 0),
  )
}

type Failure = Error & { readonly code?: string }

function joined(failures: readonly Failure[]): Error {
  const [first, ...others] = failures
  if (first !== undefined && others.length === 0) return first
  const { code } = failures.find(isConnectionRefused) ?? failures.at(-1) ?? {}
  return Object.assign(new Error(reasonsOf(failures)), { code })
}

/** The error of statements whose connection has closed. */
export function connectionClosed(): Error {
  return codedError('CONNECTION_CLOSED', 'the connection to the database was closed')
}

/** The error of a statement that waited for a connection as long as it may. */
export function noConnection(waitMs: number): Error {
  return codedError('STATEMENT_ABANDONED', `statement not sent: no connection was free within ${waitMs} ms`)
}

/** The error of a statement that was not sent because its caller stopped waiting. */
export function abandoned(): Error {
  return codedError('STATEMENT_ABANDONED', 'statement not sent: its caller stopped waiting')
}
