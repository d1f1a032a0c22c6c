// PostgreSQL killed, frozen and locked; connections to it and to the service closed.

import net from 'node:net'
import { freePort } from '../../lib/port.js'
import { canMeasureProcesses, residentBytes } from '../../lib/processes.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, shortTime, withService } from './parts.js'

/** Kills PostgreSQL, which its supervisor restarts. */
export function killDatabase(environment: Environment, times: number): Promise<Report> {
  return withService(environment, {}, (origin) =>
    environment.run(`PostgreSQL killed ${times} times`, origin, async (load) => {
      const recoveries: number[] = []
      for (let i = 0; i < times; i++) {
        await environment.delay(300)
        const startedAt = performance.now()
        await environment.faults.kill() // meanwhile a lingering connection may still serve
        await load.untilServed()
        recoveries.push(performance.now() - startedAt)
      }
      return { figures: [`served again within ${longest(recoveries)} ms, including PostgreSQL's recovery`] }
    }),
  )
}

/** Freezes PostgreSQL and thaws it. */
export function freezeDatabase(environment: Environment, forMs: number): Promise<Report> {
  return withService(environment, shortTime, (origin, pid) =>
    environment.run(`PostgreSQL frozen for ${forMs} ms`, origin, async (load) => {
      const before = residentBytes(pid)
      const { alive, grown } = await environment.faults.whileFrozen(async () => {
        await environment.delay(forMs)
        return { alive: await fetch(`${origin}/healthz`), grown: residentBytes(pid) - before }
      })
      const servedAfterMs = await load.untilServed()
      const connections = await connectionsAfter(environment)
      return {
        figures: [
          `served again ${Math.round(servedAfterMs)} ms after the thaw; ${connections} connections`,
          ...(canMeasureProcesses ? [`memory grew by ${Math.round(grown / 2 ** 20)} MB`] : []),
        ],
        violations: [
          ...unless(
            servedAfterMs < environment.bounds.recoveryMs,
            `it took ${Math.round(servedAfterMs)} ms to recover`,
          ),
          ...unless(connections <= connectionsMax, `${connections} connections`),
          ...unless(!(grown > 200 * 2 ** 20), `memory grew by ${grown} bytes`),
          ...unless(alive.ok, `/healthz responded ${alive.status} meanwhile`),
        ],
      }
    }),
  )
}

// One for keys, two for reads, eight for writes, one that listens, and up to four of the startup.
const connectionsMax = 16

// PostgreSQL may take a moment to notice that the service closed its old connections.
async function connectionsAfter(environment: Environment): Promise<number> {
  const deadline = performance.now() + environment.bounds.recoveryMs
  for (;;) {
    await environment.delay(500)
    const connections = await environment.faults.connections()
    if (connections <= connectionsMax || performance.now() > deadline) return connections
  }
}

/** Terminates all connections to PostgreSQL repeatedly. */
export function cutConnections(environment: Environment, times: number): Promise<Report> {
  return withService(environment, {}, (origin) =>
    environment.run(`connections to PostgreSQL terminated ${times} times`, origin, async (load) => {
      let cut = 0
      for (let i = 0; i < times; i++) {
        cut += await environment.faults.cut()
        await environment.delay(100)
      }
      const servedAfterMs = await load.untilServed()
      return {
        figures: [`${cut} connections; served again ${Math.round(servedAfterMs)} ms after the last`],
        violations: unless(
          servedAfterMs < environment.bounds.recoveryMs,
          `it took ${Math.round(servedAfterMs)} ms to recover`,
        ),
      }
    }),
  )
}

/**
 * Locks the pets table repeatedly, while more client connections than WORK_MAX send requests and are reset. Their slots must be released.
 */
export async function resetConnections(environment: Environment, times: number): Promise<Report> {
  const metricsPort = await freePort()
  const env = { WORK_MAX: String(workMax), METRICS_PORT: String(metricsPort) }
  return withService(environment, env, (origin) =>
    environment.run(`connections of clients reset ${times} times`, origin, async (load) => {
      const recoveries: number[] = []
      let count = 0
      for (let i = 0; i < times; i++) {
        await environment.faults.whileLocked(async () => {
          const sockets = await Promise.all(
            Array.from({ length: 2 * workMax + 5 }, (_, n) =>
              sendRequest(environment, origin, `/v1/pets?limit=${n + 1}`),
            ),
          )
          count += sockets.length
          await environment.delay(lockedMs)
          for (const socket of sockets) socket.resetAndDestroy()
        })
        recoveries.push(await load.untilServed())
      }
      await load.stop()
      const leaked = await requestsInFlight(environment, `http://127.0.0.1:${metricsPort}/metrics`)
      return {
        figures: [
          `${count} reset; served again within ${longest(recoveries)} ms; ${leaked} requests in flight afterwards`,
        ],
        violations: [
          ...unless(leaked === 0, `${leaked} slots were not released`),
          ...unless(
            longest(recoveries) < environment.bounds.recoveryMs,
            `it took ${longest(recoveries)} ms to serve again after a reset`,
          ),
        ],
      }
    }),
  )
}

const workMax = 20
const lockedMs = 300

async function sendRequest(environment: Environment, origin: string, path: string): Promise<net.Socket> {
  const { port, hostname } = new URL(origin)
  const socket = net.connect(Number(port), hostname)
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${environment.database.key}\r\n\r\n`)
  return socket
}

// The last requests may take a moment to end.
async function requestsInFlight(environment: Environment, url: string): Promise<number> {
  const deadline = performance.now() + environment.bounds.recoveryMs
  for (;;) {
    const text = await (await fetch(url)).text()
    const count = Number(/^animal_store_requests_in_flight (.*)$/m.exec(text)?.[1])
    if (count === 0 || performance.now() > deadline) return count
    await environment.delay(50)
  }
}

/** Locks the pets table beyond HANDLER_TIMEOUT_MS. Refused creates must not be executed when the lock is released. */
export function abandonWork(environment: Environment, times: number): Promise<Report> {
  const { refusedMs } = environment.bounds
  const env = { HANDLER_TIMEOUT_MS: String(refusedMs) }
  return withService(environment, env, (origin) =>
    environment.run(
      `pets table locked ${times} times, beyond the time limit`,
      origin,
      async (load, ledger) => {
        for (let i = 0; i < times; i++) {
          await environment.faults.whileLocked(() => environment.delay(2 * refusedMs))
          await load.untilServed()
        }
        await load.stop()
        const { unknown, unknownStored } = await ledger.balance(environment.database.sql)
        return {
          figures: [`${unknown} creates were refused`],
          violations: [
            ...unless(unknown > 0, 'no create met a lock'),
            ...unless(unknownStored === 0, `${unknownStored} creates were executed after their 503`),
          ],
        }
      },
    ),
  )
}

/** Sets short connection lifetimes in the URL, under transactions. No request may fail. */
export async function recycleConnections(environment: Environment, forMs: number): Promise<Report> {
  const { DATABASE_URL = '' } = environment.database.env
  const url = `${DATABASE_URL}?max_lifetime=1&idle_timeout=1`
  return withService(environment, { DATABASE_URL: url }, (origin) =>
    environment.run(`connection lifetime of a second, for ${forMs} ms`, origin, async (load, ledger) => {
      // On a busy machine the first connection of a pool may time out, which is not tested here.
      while (!['200', '201'].every((status) => ledger.statuses.has(status))) await environment.delay(50)
      const before = new Map(ledger.statuses)
      await environment.delay(forMs)
      await load.stop()
      const failures = [...ledger.statuses]
        .filter(([end, count]) => !end.startsWith('2') && count > (before.get(end) ?? 0))
        .map(([end]) => end)
      return { figures: [], violations: unless(failures.length === 0, `there were ${failures.join(', ')}`) }
    }),
  )
}
