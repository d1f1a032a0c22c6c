// One connection to PostgreSQL: a postgres.js with `max: 1`, dropped once its connection closes. On some
// closes postgres.js 3.4.9 reconnects badly (porsager/postgres issues 1154 and 1208): unsent data stays in
// its buffer, and some queries never settle. This class rejects the statements in flight instead.

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

// How often to check whether the server has sent something on a connection that was given up.
const pollMs = 25
// How long the server may take to respond to a cancel request.
const cancelMs = 200

export class Connection implements HeldConnection {
  /** A tag for callers that wait until their statements are done. Kept, because a batch needs no other. */
  sql: Sql
  #lender: Lender = { probes: new Set(), observer: undefined }
  /** Called when the connection is given up. */
  ongivenup = () => {}
  /** Called when the server does not respond to the cancel request that follows. */
  onunresponsive = () => {}
  /** Statements and transactions assigned to this connection. The pool counts them. */
  slotsInUse = 0
  /** The connection takes no new work, and closes when it is idle. */
  isRetiring = false
  /** No byte arrived in time. The statements in flight are rejected, but may still run. */
  isGivenUp = false
  /** How many statements have completed on it. */
  completed = 0
  /** A write failed as read-only: the server is no longer a primary. */
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
      // Not earlier: over TLS, `end` would write to a socket that is being destroyed, and nothing catches
      // that.
      void this.#postgres.end({ timeout: 0 })
    }
    this.#postgres = make({ max: 1, onclose, socket: (target) => this.#connect(target) })
    this.sql = this.sqlUntil(undefined)
    this.#readTimer = setTimeout(() => this.#checkResponsive(), readTimeoutMs).unref()
  }

  /**
   * Connects to the first server that `servers` accepts. If none is accepted, rejects with one error that has
   * all reasons, and the code of the most telling one.
   * @param readTimeoutMs longer than any statement may take: a connection with statements in flight is given
   * up after this time without a byte
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
   * Declares that the statements of this connection only read, so a write that fails is their fault, not the
   * server's. Also makes the session read-only, unless a pooler shares it with others.
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

  /** The server that it reached. */
  get server(): PostgresServer | undefined {
    return this.#server
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Cancels the statements behind one that has timed out, each when its own time is over. PostgreSQL measures
   * a statement from its turn in the pipeline; the caller measures from when it asked. Without this, they
   * would run on for callers who have their 503. The connection retires, because a cancel request names no
   * statement and could hit a newer one.
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

  /** Sends a statement behind those in flight. Rejects it with CONNECTION_CLOSED if no result can arrive. */
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
    // Each result collects its own rows. postgres.js 3.4.9 counts rows per connection, and does not reset the
    // count when a statement fails after its first row (porsager/postgres issues 1119 and 1181): the next
    // result would begin with holes.
    query.forEach(collect).then(
      (result) => this.#completed(statement, result),
      (error) => this.#failed(statement, error),
    )
  }

  // If rows are missing from a result, reject it and close the connection: later rows may belong to another
  // statement.
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

  /** Gives the connection to a pool: from now on, the pool observes and limits its statements. */
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

  // Pipelined statements share one write, because each write wakes PostgreSQL. postgres.js joins only those
  // below 1 kB. It writes in microtasks, so before the next tick.
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

  /** Closes the connection at once, or, if it was given up, when its backend has finished. */
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
   * Rejects the statements in flight, whose outcome is unknown, and sends a cancel request. Nothing else ends
   * a commit that waits for a synchronous standby; the cancelled commit is kept. The next byte shows that the
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

  // Not through `cancel` of a query: nothing would catch an error of the connection that it opens.
  #sendCancel(): void {
    if (this.#backend === undefined) return
    this.#cancels = true
    const { canceller } = this.#postgres`` as unknown as Cancelling // missing from the types of a query
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

// The part of a query, never awaited, that sends cancel requests.
interface Cancelling {
  /** Sends a cancel request for a backend's current statement, over a separate connection. */
  canceller(query: { readonly active: true; readonly state: Backend }): Promise<void>
}

/** The pool that lends a connection. */
export interface Lender {
  readonly probes: Set<Probe>
  readonly observer: StatementObserver | undefined
  /** How long a pipelined statement may take, from when its caller asked. */
  readonly limitMs?: number | undefined
}

/** Called when a statement is queued or sent. Returns a function to call when it settles. */
export type StatementObserver = () => () => void

/** Reports a statement to an observer. */
export function observe(statement: Statement, observer: StatementObserver): void {
  const settled = observer()
  statement.then(settled, settled)
}

/** A signal for a piece of work: aborted when the work is over, or when its caller's signal is. */
export class WorkSignal implements Signal {
  #isOver = false
  #caller: Signal | undefined

  constructor(caller: Signal | undefined) {
    this.#caller = caller
  }

  get aborted(): boolean {
    return this.#isOver || this.#caller?.aborted === true
  }

  // Lets go of the caller. Statements refer to this object, and V8 keeps many statements until a full garbage
  // collection; with the caller, it would keep their requests. A class, not an object with a getter: V8 gives
  // each such object a hidden class that refers to the getter.
  end(): void {
    this.#isOver = true
    this.#caller = undefined
  }
}

type Query = postgres.PendingQuery<postgres.Row[]>

/** Makes the query of a statement. postgres.js sends it once it is awaited; a part of a query never is. */
function queryOf(sql: RootSql, { text, args, options, form }: Statement): Query {
  const query: Query =
    typeof text === 'string'
      ? sql.unsafe(text, args as never[], options) // from a tag's `unsafe`
      : sql(text, ...(args.map((each) => parameterOf(sql, each)) as never[])) // from the tag itself
  return form === undefined ? query : (query[form]() as Query)
}

// postgres.js infers int8 for an array of bigint. With type 0, PostgreSQL infers the array type.
function parameterOf(sql: RootSql, arg: unknown): unknown {
  if (typeof arg !== 'object') return arg
  return Array.isArray(arg) && typeof arg[0] === 'bigint' ? sql.typed(arg, 0) : partOf(sql, arg)
}

// Turns our parts of a query, also those in lists and rows, into postgres.js's own: it knows no others.
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

// Compares the rows with the count of the command tag, such as `SELECT 5`. Some tags have no count (SHOW), or
// count rows that they do not return.
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

/** The error of a statement that waited for a connection for its whole time. */
export function noConnection(waitMs: number): Error {
  return codedError('STATEMENT_ABANDONED', `statement not sent: no connection was free within ${waitMs} ms`)
}

/** The error of a statement that was not sent because its caller stopped waiting. */
export function abandoned(): Error {
  return codedError('STATEMENT_ABANDONED', 'statement not sent: its caller stopped waiting')
}
