// The servers that a database is on, one of which takes writes: the primary. Which of them it is changes, so each new connection asks.

import type tls from 'node:tls'
import postgres from 'postgres'
import { type PostgresTarget, type PostgresUrl, readPostgresUrl } from '../lib/postgres-url.js'
import { readTls } from './tls.js'

/** Of postgres.js's options, those that say where a server is, and the login of one that has its own; none: they are given another way. */
export interface Server {
  readonly host?: string
  readonly port?: number
  readonly ssl?: tls.ConnectionOptions | postgres.ParsedOptions['ssl']
  readonly username?: string
  readonly password?: string
  readonly database?: string
}

/** What a server says of itself. */
export interface ServerState {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  /** The process that answers is not the one that it was connected to: there is a pooler in between. */
  readonly isPooled: boolean
  /** How many of the migrations that it was asked for it has. */
  readonly migrations: number
}

/** Which one serves now, and why those that were tried before it do not; undefined: there was none, or no answer. */
export interface Move {
  readonly server: string
  readonly reason: string | undefined
}

export class Servers {
  /** Called when another one than before takes the writes: connections to that one are of no more use. */
  onmoved = (_move: Move) => {}
  #first = 0
  #current: Server | undefined
  #isPooled: boolean | undefined

  constructor(
    readonly all: readonly Server[] = [{}],
    readonly target: PostgresTarget | 'any' = 'primary',
    isPooled?: boolean,
    /** What a server has to have, by replication, before it is of use. */
    readonly migrations: readonly string[] = [],
  ) {
    this.#isPooled = isPooled
  }

  /** What asks a server for its state, and for the process that answers. Without parameters, so that it is one round trip. */
  get stateStatement(): string {
    const names = this.migrations.map((name) => `'${name}'`).join()
    const count = names && `(select count(*)::int from schema_migrations where name in (${names}))`
    return `select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
      current_setting('transaction_read_only') = 'on' as "isReadOnly", ${count || 0} as migrations`
  }

  /** The one that was last found. */
  get current(): Server | undefined {
    return this.#current
  }

  /**
   * Whether they are behind a pooler, as the first connection was: then each transaction may have another session, and what is set
   * in one, or prepared, is not there for the next.
   */
  get isPooled(): boolean {
    return this.#isPooled === true
  }

  /** In the order in which they are to be tried: the one that was last found first. */
  inTurn(): readonly Server[] {
    return [...this.all.slice(this.#first), ...this.all.slice(0, this.#first)]
  }

  /** From now on this one is tried first. */
  startWith(server: Server | undefined): void {
    if (server !== undefined) this.#first = this.all.indexOf(server)
  }

  /** No answer has come from this one for long: another is to be tried first. */
  skip(server: Server | undefined): void {
    if (this.all[this.#first] === server) this.#first = (this.#first + 1) % this.all.length
  }

  /**
   * Takes a server that was connected to for the one that takes writes.
   * @param reason why those that were tried before it do not serve
   * @throws {Error} with SQLSTATE 25006 when it only reads, and that will not do, 08004 when a pooler has come between
   */
  accept(server: Server, state: ServerState | undefined, { host, port }: Address, reason?: string): void {
    const refusal =
      this.target !== 'any' && state?.isStandby
        ? 'a standby: it only reads'
        : this.target === 'read-write' && state?.isReadOnly && 'set to only read'
    if (refusal) throw Object.assign(new Error(`${host[0]}:${port[0]} is ${refusal}`), { code: '25006' })
    if (state !== undefined && state.migrations < this.migrations.length)
      throw new Error(`${host[0]}:${port[0]} lacks migrations that the primary has`)
    this.#isPooled ??= state?.isPooled
    // The settings of such a connection would be lost.
    if (state?.isPooled && !this.isPooled)
      throw Object.assign(new Error(`${host[0]}:${port[0]} is behind a pooler now`), { code: '08004' })
    const hasMoved = this.#current !== undefined && this.#current !== server
    this.#current = server
    this.#first = this.all.indexOf(server)
    if (hasMoved) this.tell({ host, port }, reason)
  }

  protected tell({ host, port }: Address, reason?: string): void {
    this.onmoved({ server: `${host[0]}:${port[0]}`, reason })
  }
}

/** The servers that requests read from: standbys, and while none of them answers, the others. */
export class ReadServers extends Servers {
  /** The standbys alone. */
  readonly standbys: Servers

  /** @param isPooled of either: each connection is told before it is opened */
  constructor(
    standbys: readonly Server[],
    others: readonly Server[],
    isPooled: boolean,
    migrations: readonly string[],
  ) {
    super([...standbys, ...others], 'any', isPooled, migrations)
    this.standbys = new Servers(standbys, 'any', isPooled, migrations)
  }

  /** Whether one of the others serves. */
  get isStandIn(): boolean {
    return this.current !== undefined && !this.standbys.all.includes(this.current)
  }

  override accept(server: Server, state: ServerState | undefined, address: Address, reason?: string): void {
    const isFirst = this.current === undefined
    super.accept(server, state, address, reason)
    if (isFirst && this.isStandIn) this.tell(address, reason)
  }
}

type Address = Pick<postgres.ParsedOptions, 'host' | 'port'>

/** Where a database is, for postgres.js. */
export interface Place {
  readonly url: string
  readonly login: Pick<PostgresUrl, 'username' | 'password' | 'database'>
  readonly servers: Servers
}

/**
 * Reads DATABASE_URL. What it leaves out is in libpq's variables (PGHOST), as postgres.js reads them.
 * @throws {OperatorError} when a file that it names cannot be read
 */
export function readPlace(databaseUrl: string): Place {
  const { username, password, database, parameters, hosts, target } = readPostgresUrl(databaseUrl)
  const sslOf = readTls(parameters)
  const url = `postgres:///?${parameters}`
  const { host, port } = postgres(url).options
  const all = hosts.flatMap((each) =>
    (each.name === undefined ? host : [each.name]).map((name, i) => ({
      // Lists, which its types leave out: in a text, it takes what follows a colon of an IPv6 address for the port.
      host: [name] as unknown as string,
      port: [each.port ?? port[i] ?? 5432] as unknown as number,
      ...sslOf(name),
    })),
  )
  return {
    url,
    login: { username, password, database },
    servers: new Servers(all, target, parameters.get('prepare') === 'false' || undefined),
  }
}
