// A PostgreSQL and a streaming standby of it, on the programs of the embedded one: a primary may be killed, and the standby promoted.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { binaries } from '../../src/database/embedded/binaries.js'
import { type Identity, prepareDirectory } from '../../src/database/embedded/data-directory.js'
import type { RootSql } from '../../src/database/types.js'
import { kill as killProcess } from './child.js'
import { freePort } from './port.js'

const pollMs = 20

/** One of the two. */
export interface PostgresServer {
  readonly host: string
  readonly port: number
  /** Connections to its database `postgres`, as its owner. */
  readonly sql: RootSql
  /** From now on it keeps its connections, and even takes new ones, but answers nothing. */
  freeze(): Promise<void>
  /** Ends it as a power cut would, as far as a process can tell. */
  kill(): Promise<void>
}

/** Servers, in that order, as a service is told. */
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
   * Starts both, and waits until the one sends to the other.
   * @param directory with the data of an embedded server that is stopped, which becomes the primary's
   * @param isSynchronous whether each commit of the one waits for the other
   */
  static async start(directory: string, isSynchronous = true): Promise<Replication> {
    const copy = path.join(directory, 'standby')
    mkdirSync(copy, { mode: 0o711 })
    execFileSync('cp', ['-a', path.join(directory, 'postgresql'), copy])
    const settings = isSynchronous ? ['synchronous_standby_names=*'] : []
    const primary = await startServer(path.join(directory, 'postgresql'), settings)
    const source = `host=${primary.host} port=${primary.port} user=postgres`
    const standby = await startServer(path.join(copy, 'postgresql'), [`primary_conninfo=${source}`], true)
    const replication = new Replication(primary, standby)
    await untilFound(
      () => primary.sql`
        select from pg_stat_replication
        where state = 'streaming' and sync_state = ${isSynchronous ? 'sync' : 'async'}`,
    )
    return replication
  }

  /** Both, in that order, as a service is told. */
  get url(): string {
    return urlOf(this.primary, this.standby)
  }

  /** Makes the standby a primary, one that waits for no other. */
  async promote(): Promise<void> {
    await this.standby.sql`select pg_promote()`
  }

  /** Waits until a query of the standby sees what the primary has committed by now. */
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

async function startServer(
  directory: string,
  settings: readonly string[],
  isStandby = false,
): Promise<PostgresServer> {
  const identity = await prepareDirectory(directory)
  const bin = await binaries(directory, identity)
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
    child.kill('SIGSTOP') // first: it makes no more processes
    const rows = await sql<{ pid: number }[]>`select pid from pg_stat_activity`
    frozen.push(...rows.map(({ pid }) => pid))
    for (const pid of frozen) process.kill(pid, 'SIGSTOP')
  }
  const kill = async () => {
    await sql.end({ timeout: 0 })
    await killProcess(child)
    for (const pid of frozen.splice(0)) process.kill(pid, 'SIGKILL') // they hear of no end
  }
  return { host, port, sql, freeze, kill }
}

// PostgreSQL writes it, too.
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
