// Faults of PostgreSQL. Its supervisor restarts it when it was killed.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { BenchDatabase } from '../bench/database.js'

/** Kills it, like a power cut. Resolves when its supervisor has started another server. */
export async function killServer(database: BenchDatabase): Promise<void> {
  const killed = serverPid(database)
  process.kill(killed, 'SIGKILL')
  // The lock file may be missing between the two servers.
  const current = () => {
    try {
      return serverPid(database)
    } catch {
      return killed
    }
  }
  while (current() === killed) await delay(5)
}

/** Stops its processes while `act` runs: connections stay open, new ones are accepted, nothing responds. */
export async function whileFrozen<Result>(
  database: BenchDatabase,
  act: () => Promise<Result>,
): Promise<Result> {
  const server = serverPid(database)
  const frozen = [server]
  try {
    process.kill(server, 'SIGSTOP') // first, so that it forks no more processes
    const rows = await database.sql<{ pid: number }[]>`select pid from pg_stat_activity`
    frozen.push(...rows.map(({ pid }) => pid))
    for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    return await act()
  } finally {
    // The postmaster last: until it has reaped an exited child, the pid cannot be reused.
    for (const pid of frozen.toReversed()) process.kill(pid, 'SIGCONT')
  }
}

/** Makes every statement on pets wait while `act` runs. */
export async function whileLocked({ sql }: BenchDatabase, act: () => Promise<void>): Promise<void> {
  await sql.begin(async (sql) => {
    await sql`lock table pets in access exclusive mode`
    await act()
  })
}

/** Terminates every connection of the service, and returns their number. */
export async function terminateConnections({ sql }: BenchDatabase): Promise<number> {
  const rows = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'animal-store'`
  return rows.length
}

/** Returns the number of the service's connections. */
export async function countConnections({ sql }: BenchDatabase): Promise<number> {
  const rows = await sql`select from pg_stat_activity where application_name = 'animal-store'`
  return rows.length
}

function serverPid({ env }: BenchDatabase): number {
  const pid = Number(readFileSync(path.join(env.PGHOST ?? '', 'postmaster.pid'), 'utf8').split('\n')[0])
  if (pid > 0) return pid
  throw new Error('PostgreSQL is starting') // a signal to pid 0 would reach this process group
}
