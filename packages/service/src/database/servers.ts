// The servers of a database. One server, the primary, accepts writes. A failover makes another one the
// primary, so each new connection asks. Without this, a failover would need a restart of every instance.

import type tls from 'node:tls'
import postgres from 'postgres'
import { type PostgresTarget, type PostgresUrl, readPostgresUrl } from '../lib/postgres-url.js'
import { type FilePassword, passwordFrom } from './password-file.js'
import { readTls } from './tls.js'
import { codedError, reasonsOf } from './unavailable.js'

/** The postgres.js options that differ between servers. Empty if the options of `make` name the server. */
export interface PostgresServer {
  readonly host?: string
  readonly port?: number
  readonly ssl?: tls.ConnectionOptions | postgres.ParsedOptions['ssl']
  readonly username?: string
  readonly password?: string | FilePassword
  readonly database?: string
}

/** The result of `stateStatement`. */
export interface ServerState {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  /** True if another backend answered than PostgreSQL's startup message named: a pooler is in between. */
  readonly isPooled: boolean
  /** The number of `Servers.migrations` that the server has. */
  readonly migrations: number
}

/** A change of the server in use, and why the servers tried before were not accepted, if known. */
export interface ServerChange {
  readonly server: string
  readonly reason: string | undefined
}

export class Servers {
  /**
   * Called when a connection reaches another server than the last one did, whose connections are now
   * obsolete.
   */
  onchange = (_change: ServerChange) => {}
  #first = 0
  #current: PostgresServer | undefined
  #isPooled: boolean | undefined
  // The failures since the last change, without those of servers that were accepted later.
  readonly #failures = new Map<PostgresServer, Error>()

  constructor(
    readonly all: readonly PostgresServer[] = [{}],
    readonly target: PostgresTarget | 'any' = 'primary',
    isPooled?: boolean,
    /** The migrations that an accepted server must have. */
    readonly migrations: readonly string[] = [],
  ) {
    this.#isPooled = isPooled
  }

  /**
   * Selects a server's state and its backend's pid, and applies `newerSetting`: to the session, or behind a
   * pooler, which shares sessions, to this statement alone. Without parameters it takes one round trip.
   */
  get stateStatement(): string {
    const names = this.migrations.map((name) => `'${name}'`).join()
    const count = names && `(select count(*)::int from schema_migrations where name in (${names}))`
    return `select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
      current_setting('transaction_read_only') = 'on' as "isReadOnly", ${count || 0} as migrations,
      (select set_config(name, '0', ${this.#isPooled !== false})
        from pg_settings where name = 'transaction_timeout')`
  }

  /** The server accepted last. */
  get current(): PostgresServer | undefined {
    return this.#current
  }

  /** True if a pooler is in front of the servers, as `prepare=false` or the first connection says. */
  get isPooled(): boolean {
    return this.#isPooled === true
  }

  /**
   * The same servers, for a trial connection: it changes neither the current server nor the order.
   */
  get aside(): Servers {
    const copy = new Servers(this.all, this.target, this.#isPooled, this.migrations)
    copy.#first = this.#first
    return copy
  }

  /** The order in which a new connection tries the servers. */
  inOrder(): readonly PostgresServer[] {
    return [...this.all.slice(this.#first), ...this.all.slice(0, this.#first)]
  }

  /** Puts a server first. */
  prefer(server: PostgresServer | undefined): void {
    if (server !== undefined) this.#first = this.all.indexOf(server)
  }

  /** Puts the next server first, if this one is first. */
  skip(server: PostgresServer | undefined): void {
    if (this.all[this.#first] === server) this.#first = (this.#first + 1) % this.all.length
  }

  /**
   * Notes why a server was not accepted, for the report of a change: a later attempt may reach another
   * server.
   */
  failed(server: PostgresServer, error: Error): void {
    this.#failures.set(server, error)
  }

  /**
   * Makes a server the current one if its state meets the target.
   * @throws {Error} with SQLSTATE 25006 if the server is read-only and must not be, with 08004 if it now has
   * a pooler
   */
  accept(server: PostgresServer, state: ServerState | undefined, { host, port }: Address): void {
    const address = `${host[0]}:${port[0]}`
    if (state !== undefined) this.#check(state, address)
    const hasChanged = this.hasChanged(server)
    this.#current = server
    this.prefer(server)
    this.#failures.delete(server)
    if (!hasChanged) return
    const reason = reasonsOf(this.#failures.values())
    this.#failures.clear()
    this.onchange({ server: address, reason })
  }

  #check(state: ServerState, address: string): void {
    if (state.isStandby && this.target !== 'any') throw codedError('25006', `${address} is a standby`)
    if (state.isReadOnly && this.target === 'read-write') throw codedError('25006', `${address} is read-only`)
    if (state.migrations < this.migrations.length)
      throw new Error(`${address} lacks migrations that the primary has`)
    this.#isPooled ??= state.isPooled
    // A pooler would lose the settings of the sessions.
    if (state.isPooled && !this.isPooled)
      throw codedError('08004', `${address} is now behind a connection pooler`)
  }

  protected hasChanged(server: PostgresServer): boolean {
    return this.#current !== undefined && this.#current !== server
  }
}

/** The servers for reads: the standbys, and the primary's servers while no standby is available. */
export class ReadServers extends Servers {
  /** The standbys alone. */
  readonly standbys: Servers

  /**
   * @param isPooled true if any server has a pooler; the options of a connection must be known before it
   * opens
   */
  constructor(
    standbys: readonly PostgresServer[],
    primaries: readonly PostgresServer[],
    isPooled: boolean,
    migrations: readonly string[],
  ) {
    super([...standbys, ...primaries], 'any', isPooled, migrations)
    this.standbys = new Servers(standbys, 'any', isPooled, migrations)
  }

  /** True while reads go to the primary, because no standby was available. */
  get isFallback(): boolean {
    return this.current !== undefined && !this.standbys.all.includes(this.current)
  }

  // A fallback at startup counts as a change, too.
  protected override hasChanged(server: PostgresServer): boolean {
    const isFirst = this.current === undefined
    return isFirst ? !this.standbys.all.includes(server) : super.hasChanged(server)
  }
}

type Address = Pick<postgres.ParsedOptions, 'host' | 'port'>

/** DATABASE_URL as options for postgres.js. */
export interface DatabaseUrl {
  /** The URL's parameters alone. */
  readonly url: string
  readonly login: Pick<PostgresUrl, 'username' | 'password' | 'database'>
  readonly servers: Servers
  readonly ignored: PostgresUrl['ignored']
}

/**
 * Reads DATABASE_URL or another such variable. postgres.js adds what libpq's variables (such as PGHOST) say.
 * @throws {OperatorError} if its sslmode is unknown, or a file that it names cannot be used
 */
export async function readDatabaseUrl(text: string, variable = 'DATABASE_URL'): Promise<DatabaseUrl> {
  const { username, password, database, passfile, parameters, hosts, target, ignored } = readPostgresUrl(text)
  const sslOf = readTls(parameters, variable)
  const url = `postgres:///?${parameters}`
  const login = { username, password, database }
  const complete = postgres(url, login).options
  const given = String(complete.pass)
  const passwordOf = await filePasswords(given ? undefined : passfile, variable, complete)
  const each = hosts.flatMap(({ name, port: own, address }) =>
    (name === undefined ? complete.host : [name]).map((name, i) => {
      const port = own ?? complete.port[i] ?? 5432
      // Arrays, missing from postgres.js's types: in a string, an IPv6 address would end at its colon.
      const place = { host: [address ?? name] as unknown as string, port: [port] as unknown as number }
      return { ...place, ...sslOf(name), ...passwordOf(name, port) }
    }),
  )
  const prepared = (await scramForm(given))(given)
  const all =
    prepared === given ? each : [...each.map((server) => ({ ...server, password: prepared })), ...each]
  return {
    url,
    login,
    servers: new Servers(all, target, parameters.get('prepare') === 'false' || undefined),
    ignored,
  }
}

type PasswordOf = (host: string, port: number) => { readonly password?: FilePassword }

async function filePasswords(
  file: string | undefined,
  variable: string,
  { user, database }: Pick<postgres.ParsedOptions, 'user' | 'database'>,
): Promise<PasswordOf> {
  if (file === undefined) return () => ({})
  const prepare = await scramForm()
  return (host, port) => ({
    password: passwordFrom(file, `${variable}: passfile`, { host, port, database, user }, prepare),
  })
}

// SCRAM uses the password in the form of SASLprep (RFC 7677, section 1; RFC 4013), if it has one; postgres.js
// 3.4.9 does not convert it. Other methods use the password as it is, so the service tries that next, if the
// two differ. The library is loaded only for a password that may need it.
async function scramForm(given?: string): Promise<(password: string) => string> {
  const isAscii = (password: string) => /^[ -~]*$/.test(password)
  if (given !== undefined && isAscii(given)) return (password) => password
  const { saslprep } = await import('@mongodb-js/saslprep')
  return (password) => {
    try {
      return isAscii(password) ? password : saslprep(password)
    } catch {
      return password // it contains a prohibited character
    }
  }
}
