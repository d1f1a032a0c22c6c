// One connection to PostgreSQL: a handle of postgres.js with `max: 1`, used until it ends and never again. postgres.js 3.4.9
// reconnects by itself, but not from every end (porsager/postgres issues 1154 and 1208): what it was about to write stays in its
// buffer, marked as sent, and some queries are never settled. So whatever is in flight when a connection ends is rejected here.

import type { Socket } from 'node:net'
import type postgres from 'postgres'
import { afterReading } from '../../lib/after-reading.js'
import type { Server, ServerState, Servers } from '../servers.js'
import { isConnectionRefused, isReadOnly } from '../unavailable.js'
import { createSocket, type Target } from './socket.js'

/** A handle of postgres.js, with int8 as bigint. */
export type Handle = postgres.Sql<{ bigint: bigint }>

/** What postgres.js is given of a connection. */
export interface ConnectionHooks extends Server {
  readonly max: 1
  readonly onclose: () => void
  /** For postgres.js's options, whose types leave it out. */
  readonly socket: (target: Target) => Socket
}

export type MakeHandle = (hooks: ConnectionHooks) => Handle

/** A statement of postgres.js. It is lazy: `handler` sends it once somebody awaits it. */
export interface Query extends postgres.PendingQuery<postgres.Row[]> {
  handler: (query: Query) => unknown
  reject(error: unknown): void
}

export class Connection {
  /** Statements and transactions that have been promised this connection; its pool counts them. */
  places = 0
  /** Nobody is promised it any more; it is dropped when nobody uses it. */
  isLeaving = false
  readonly #handle: Handle
  readonly #send: Query['handler']
  readonly #inFlight = new Set<Query>()
  readonly #silence: NodeJS.Timeout
  #socket: Socket | undefined
  #isLost = false
  #isSilent = false
  #isReadOnly = false

  private constructor(
    make: MakeHandle,
    silenceMs: number,
    readonly onlost: (connection: Connection) => void,
  ) {
    this.#handle = make({
      max: 1,
      onclose: () => this.#lose(),
      socket: (target) => {
        // postgres.js would reconnect for what is in its queue, and without end to a server that hangs up at once.
        if (this.#isLost || this.#socket !== undefined) throw connectionLost()
        this.#socket = createSocket(target)
        return this.#socket
      },
    })
    this.#send = handlerOf(this.#handle)
    this.#silence = setTimeout(() => this.#checkSilence(), silenceMs).unref()
  }

  /**
   * Connects to the first server that takes writes. Rejects where there is none, with what each says and the code of the most telling.
   * @param silenceMs longer than any statement may take; without a byte for so long, what is in flight is given up
   * @param onlost called once, when an open connection has ended
   */
  static async open(
    make: MakeHandle,
    servers: Servers,
    silenceMs: number,
    onlost: (connection: Connection) => void,
  ): Promise<Connection> {
    const failures: Failure[] = []
    for (const server of servers.inTurn()) {
      const connection = new Connection((hooks) => make({ ...hooks, ...server }), silenceMs, onlost)
      try {
        const state = await connection.#askState(servers)
        servers.accept(server, state, connection.#handle.options, reasonOf(failures))
        return connection
      } catch (error) {
        connection.drop()
        failures.push(error as Failure)
      }
    }
    throw joined(failures)
  }

  async #askState({ stateStatement }: Servers): Promise<ServerState | undefined> {
    const query = this.#handle.unsafe(stateStatement) as unknown as Query
    query.handler = (query) => this.send(query)
    const rows = await query
    const [row] = rows
    return row && ({ ...row, isPooled: row.pid !== rows.state.pid } as unknown as ServerState)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Lost because nothing came for what was in flight. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** A statement could not write, where it could before: the server is no primary any more. */
  get isReadOnly(): boolean {
    return this.#isReadOnly
  }

  get bytesRead(): number {
    return this.#socket?.bytesRead ?? 0
  }

  /** Sends a statement, behind those in flight. Rejected with CONNECTION_CLOSED when the connection ends before its answer. */
  send(query: Query): void {
    if (this.#isLost) {
      query.reject(connectionLost())
      return
    }
    if (this.#inFlight.size === 0) this.#silence.refresh()
    this.#inFlight.add(query)
    const settled = () => {
      this.#inFlight.delete(query)
      if (!this.#isLost) this.#silence.refresh()
    }
    const failed = (error: unknown) => {
      settled()
      if (isReadOnly(error)) this.#leave()
    }
    query.then(settled, failed)
    this.#send(query)
  }

  /** Gives the connection up at once. */
  drop(): void {
    this.#socket?.destroy()
    this.#lose()
  }

  /** Ends the connection when its statements are done, or after so many seconds. */
  async end(timeoutSeconds: number): Promise<void> {
    await this.#handle.end({ timeout: timeoutSeconds })
    this.drop()
  }

  #checkSilence(): void {
    if (this.#inFlight.size === 0) return // what is sent from here on has its time before it
    const bytesRead = this.#socket?.bytesRead
    afterReading(() => {
      this.#isSilent = this.#inFlight.size > 0 && this.#socket?.bytesRead === bytesRead
      if (this.#isSilent) this.drop()
      else if (!this.#isLost) this.#silence.refresh()
    })
  }

  #leave(): void {
    this.#isReadOnly = true
    this.isLeaving = true
    if (this.places === 0) this.drop()
  }

  #lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    clearTimeout(this.#silence)
    for (const query of this.#inFlight) query.reject(connectionLost())
    void this.#handle.end({ timeout: 0 })
    this.onlost(this)
  }
}

// How a handle sends: every query that its tag makes carries the function, and this one is never awaited.
function handlerOf(handle: Handle): Query['handler'] {
  return (handle`` as unknown as Query).handler // postgres.js's types leave it out
}

type Failure = Error & { readonly code?: string }

function joined(failures: readonly Failure[]): unknown {
  const [first, ...others] = failures
  if (others.length === 0) return first
  const { code } = failures.find(isConnectionRefused) ?? failures.at(-1) ?? {}
  return Object.assign(new Error(reasonOf(failures)), { code })
}

function reasonOf(failures: readonly Failure[]): string | undefined {
  return failures.map((each) => each.message || each.code).join('; ') || undefined
}

/** The error of statements whose connection has ended. */
export function connectionLost(): Error {
  return Object.assign(new Error('the connection to the database is lost'), { code: 'CONNECTION_CLOSED' })
}
