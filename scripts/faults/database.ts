// What can befall the PostgreSQL of a run, which comes back by itself when it was killed.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { BenchDatabase } from '../bench/database.js'

export class DatabaseFaults {
  constructor(readonly database: BenchDatabase) {}

  /** Ends it as a power cut would, as far as a process can tell; resolves when its supervisor has started another. */
  async kill(): Promise<void> {
    const killed = this.#serverPid()
    process.kill(killed, 'SIGKILL')
    // There may be none while the new server takes the old one's place.
    const current = () => {
      try {
        return this.#serverPid()
      } catch {
        return killed
      }
    }
    while (current() === killed) await delay(5)
  }

  /** Meanwhile it keeps its connections, and even takes new ones, but answers nothing. */
  async whileFrozen<Result>(act: () => Promise<Result>): Promise<Result> {
    const server = this.#serverPid()
    const frozen = [server]
    try {
      process.kill(server, 'SIGSTOP') // first: it makes no more processes
      const rows = await this.database.sql<{ pid: number }[]>`select pid from pg_stat_activity`
      frozen.push(...rows.map(({ pid }) => pid))
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
      return await act()
    } finally {
      // The server last: it buries those that have ended, and until then each has its number.
      for (const pid of frozen.toReversed()) process.kill(pid, 'SIGCONT')
    }
  }

  /** Meanwhile every statement on animals waits. */
  async whileLocked(act: () => Promise<void>): Promise<void> {
    await this.database.sql.begin(async (sql) => {
      await sql`lock table pets in access exclusive mode`
      await act()
    })
  }

  /** Cuts every connection of the service; tells how many. */
  async cut(): Promise<number> {
    const rows = await this.database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'animal-store'`
    return rows.length
  }

  /** How many connections the service has. */
  async connections(): Promise<number> {
    const [row] = await this.database.sql<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity where application_name = 'animal-store'`
    return row?.count ?? 0
  }

  #serverPid(): number {
    const file = path.join(this.database.env.PGHOST ?? '', 'postmaster.pid')
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
    if (pid > 0) return pid
    throw new Error('PostgreSQL is just starting') // and 0 would be this process and its children
  }
}
