// Faults of PostgreSQL. Its supervisor restarts it when it was killed.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { BenchDatabase } from '../bench/database.js'

export class DatabaseFaults {
  constructor(readonly database: BenchDatabase) {}

  /** Kills it, like a power cut. Resolves when its supervisor has started another server. */
  async kill(): Promise<void> {
    const killed = this.#serverPid()
    process.kill(killed, 'SIGKILL')
    // The lock file may be missing between the two servers.
    const current = () => {
      try {
        return this.#serverPid()
      } catch {
        return killed
      }
    }
    while (current() === killed) await delay(5)
  }

  /** Stops its processes while `act` runs: connections stay open and new ones are accepted, without responses. */
  async whileFrozen<Result>(act: () => Promise<Result>): Promise<Result> {
    const server = this.#serverPid()
    const frozen = [server]
    try {
      process.kill(server, 'SIGSTOP') // first, so that it forks no more processes
      const rows = await this.database.sql<{ pid: number }[]>`select pid from pg_stat_activity`
      frozen.push(...rows.map(({ pid }) => pid))
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
      return await act()
    } finally {
      // The postmaster last: until it has reaped an exited child, the pid cannot be reused.
      for (const pid of frozen.toReversed()) process.kill(pid, 'SIGCONT')
    }
  }

  /** Makes every statement on pets wait while `act` runs. */
  async whileLocked(act: () => Promise<void>): Promise<void> {
    await this.database.sql.begin(async (sql) => {
      await sql`lock table pets in access exclusive mode`
      await act()
    })
  }

  /** Terminates every connection of the service, and returns their number. */
  async cut(): Promise<number> {
    const rows = await this.database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'animal-store'`
    return rows.length
  }

  /** Returns the number of the service's connections. */
  async connections(): Promise<number> {
    const [row] = await this.database.sql<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity where application_name = 'animal-store'`
    return row?.count ?? 0
  }

  #serverPid(): number {
    const file = path.join(this.database.env.PGHOST ?? '', 'postmaster.pid')
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
    if (pid > 0) return pid
    throw new Error('PostgreSQL is starting') // a signal to pid 0 would reach this process group
  }
}
