// What can befall the PostgreSQL of a run, which comes back by itself when it was killed.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { BenchDatabase } from '../bench/database.js'

export class DatabaseFaults {
  #frozen: number[] = []

  constructor(readonly database: BenchDatabase) {}

  /** Ends it as a power cut would, as far as a process can tell. */
  kill(): void {
    process.kill(this.#serverPid(), 'SIGKILL')
  }

  /** It keeps its connections, and even takes new ones, but answers nothing. */
  async freeze(): Promise<void> {
    const server = this.#serverPid()
    process.kill(server, 'SIGSTOP') // first: it makes no more processes
    const rows = await this.database.sql<{ pid: number }[]>`select pid from pg_stat_activity`
    this.#frozen = [server, ...rows.map(({ pid }) => pid)]
    for (const pid of this.#frozen) process.kill(pid, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.#frozen) process.kill(pid, 'SIGCONT')
    this.#frozen = []
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
    return Number(readFileSync(file, 'utf8').split('\n')[0])
  }
}
