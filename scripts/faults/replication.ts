// A PostgreSQL primary and a streaming standby, from the binaries of the embedded PostgreSQL.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RootSql } from 'contract-service/internal/database/database'
import { binaries, installed } from 'contract-service/internal/database/embedded/binaries'
import { type Identity, prepareDirectory } from 'contract-service/internal/database/embedded/data-directory'
import { kill as killProcess } from 'contract-service/tools/lib/child'
import { freePort } from 'contract-testing/port'
import postgres from 'postgres'

const pollMs = 20

export interface PostgresServer {
  readonly host: string
  readonly port: number
  /** Connections to the database `postgres` as superuser. */
  readonly sql: RootSql
  /** Stops all its processes: connections stay open and new ones are accepted, without responses. */
  freeze(): Promise<void>
  thaw(): void
  /** Kills it, like a power cut. */
  kill(): Promise<void>
}

/** The DATABASE_URL of servers, in that order. */
export function urlOf(...servers: readonly Pick<PostgresServer, 'host' | 'port'>[]): string {
  const hosts = servers.map(({ host, port }) => `${host}:${port}`)
  return `postgres://postgres@${hosts.join(',')}/postgres`
}

export class Replication {
  private constructor(
    readonly primary: PostgresServer,
    readonly standby: PostgresServer,
  ) {}

  /**
   * Starts both servers, and waits until the primary streams to the standby.
   * @param directory contains the data of a stopped embedded server, which becomes the primary's
   * @param isSynchronous whether each commit on the primary waits for the standby
   */
  static async start(directory: string, isSynchronous = true): Promise<Replication> {
    const copy = path.join(directory, 'standby')
    mkdirSync(copy, { mode: 0o711 })
    execFileSync('cp', ['-a', path.join(directory, 'postgresql'), copy])
    const settings = isSynchronous ? ['synchronous_standby_names=*'] : []
    const primary = await startServer(path.join(directory, 'postgresql'), { settings })
    const source = `host=${primary.host} port=${primary.port} user=postgres`
    const standby = await startServer(path.join(copy, 'postgresql'), {
      settings: [`primary_conninfo=${source}`],
      isStandby: true,
    })
    const replication = new Replication(primary, standby)
    await untilFound(
      () => primary.sql`
        select from pg_stat_replication
        where state = 'streaming' and sync_state = ${isSynchronous ? 'sync' : 'async'}`,
    )
    return replication
  }

  /** The DATABASE_URL of both servers, the primary first. */
  get url(): string {
    return urlOf(this.primary, this.standby)
  }

  /** Promotes the standby to a primary without standbys. */
  async promote(): Promise<void> {
    await this.standby.sql`select pg_promote()`
  }

  /** Waits until the standby has replayed what the primary has committed. */
  async caughtUp(): Promise<void> {
    const [now] = await this.primary.sql<{ lsn: string }[]>`select pg_current_wal_lsn()::text as lsn`
    await untilFound(
      () => this.standby.sql`select where pg_last_wal_replay_lsn() >= ${now?.lsn ?? null}::text::pg_lsn`,
    )
  }

  async close(): Promise<void> {
    await Promise.all([this.primary.kill(), this.standby.kill()])
  }
}

async function untilFound(ask: () => PromiseLike<readonly unknown[]>): Promise<void> {
  while ((await ask()).length === 0) await delay(pollMs)
}

export interface ServerOptions {
  readonly settings: readonly string[]
  readonly isStandby?: boolean
  /** The folder of its binaries; by default the embedded ones. */
  readonly bin?: string
}

/** Starts a server on the data in `directory`, and waits until it serves. */
export async function startServer(
  directory: string,
  { settings, isStandby = false, bin: given }: ServerOptions,
): Promise<PostgresServer> {
  const identity = await prepareDirectory(directory)
  const bin = given ?? (await binaries(await installed(), directory, identity))
  if (isStandby) writeSignal(path.join(directory, 'data/standby.signal'), identity)
  const host = '127.0.0.1'
  const port = await freePort()
  const options = [`port=${port}`, `listen_addresses=${host}`, ...settings].flatMap((each) => ['-c', each])
  const child = spawn(path.join(bin, 'postgres'), ['-D', 'data', ...options], {
    cwd: directory,
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: 'ignore',
    ...identity,
  })
  const sql = postgres({
    ...{ host, port, username: 'postgres', database: 'postgres' },
    ...{ max: 2, backoff: () => pollMs / 1000, fetch_types: false, onnotice: () => {} },
    types: { bigint: postgres.BigInt },
  })
  await untilServed(sql, child)
  const frozen: number[] = []
  const freeze = async () => {
    child.kill('SIGSTOP') // first, so that it forks no more processes
    const rows = await sql<{ pid: number }[]>`select pid from pg_stat_activity`
    frozen.push(...rows.map(({ pid }) => pid))
    for (const pid of frozen) process.kill(pid, 'SIGSTOP')
  }
  // The postmaster last: until it has reaped an exited child, the pid cannot be reused.
  const thaw = () => {
    for (const pid of frozen.splice(0)) process.kill(pid, 'SIGCONT')
    child.kill('SIGCONT')
  }
  const kill = async () => {
    await sql.end({ timeout: 0 })
    await killProcess(child)
    // Stopped, they do not notice the postmaster's exit.
    for (const pid of frozen.splice(0)) process.kill(pid, 'SIGKILL')
  }
  return { host, port, sql, freeze, thaw, kill }
}

// Owned by PostgreSQL's user, because the server removes the file at promotion.
function writeSignal(file: string, { uid, gid }: Identity): void {
  writeFileSync(file, '')
  if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
}

async function untilServed(sql: RootSql, child: ChildProcess): Promise<void> {
  for (;;) {
    try {
      await sql`select 1`
      return
    } catch (error) {
      if (child.exitCode !== null) throw error
      await delay(pollMs)
    }
  }
}
