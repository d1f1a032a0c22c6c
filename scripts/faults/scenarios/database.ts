// PostgreSQL killed, frozen and locked; connections to it and to the service closed.

import type net from 'node:net'
import { freePort } from 'contract-testing/port'
import { countConnections, killServer, terminateConnections, whileFrozen, whileLocked } from '../database.js'
import { type Environment, type Report, unless } from '../environment.js'
import { canMeasureProcesses, residentBytes } from '../processes.js'
import { connect, executedLate, longestOf, shortTime, timed, within, withService } from './parts.js'

/** Kills PostgreSQL, which its supervisor restarts. */
export function killDatabase(environment: Environment, times: number): Promise<Report> {
  return withService(environment, `PostgreSQL killed ${times} times`, {}, async ({ load }) => {
    const recoveryMs = await longestOf(times, async () => {
      await environment.delay(300)
      return timed(async () => {
        await killServer(environment.database) // meanwhile a lingering connection may still serve
        await load.untilServed()
      })
    })
    const figures = [`served again within ${recoveryMs} ms, including PostgreSQL's recovery`]
    return { figures, violations: [] }
  })
}

/** Freezes PostgreSQL and thaws it. */
export function freezeDatabase(environment: Environment, forMs: number): Promise<Report> {
  const title = `PostgreSQL frozen for ${forMs} ms`
  return withService(environment, title, shortTime, async ({ origin, pid, load }) => {
    const before = residentBytes(pid)
    const { alive, grown } = await whileFrozen(environment.database, async () => {
      await environment.delay(forMs)
      return { alive: await fetch(`${origin}/healthz`), grown: residentBytes(pid) - before }
    })
    const servedAfterMs = await load.untilServed()
    const connections = await connectionsAfter(environment)
    return {
      figures: [
        `served again ${servedAfterMs} ms after the thaw; ${connections} connections`,
        ...(canMeasureProcesses ? [`memory grew by ${Math.round(grown / 2 ** 20)} MB`] : []),
      ],
      violations: [
        ...within(environment.bounds.recoveryMs, servedAfterMs, 'to recover'),
        ...unless(connections <= connectionsMax, `${connections} connections`),
        ...unless(!(grown > 200 * 2 ** 20), `memory grew by ${grown} bytes`),
        ...unless(alive.ok, `/healthz responded ${alive.status} meanwhile`),
      ],
    }
  })
}

/** Of an instance: one for keys, two for reads, eight for writes, one on trial, up to four of the startup. */
export const connectionsMax = 16

// PostgreSQL may take a moment to notice that the service closed its old connections.
async function connectionsAfter(environment: Environment): Promise<number> {
  const deadline = performance.now() + environment.bounds.recoveryMs
  for (;;) {
    await environment.delay(500)
    const connections = await countConnections(environment.database)
    if (connections <= connectionsMax || performance.now() > deadline) return connections
  }
}

/** Terminates all connections to PostgreSQL repeatedly. */
export function cutConnections(environment: Environment, times: number): Promise<Report> {
  const title = `connections to PostgreSQL terminated ${times} times`
  return withService(environment, title, {}, async ({ load }) => {
    let cut = 0
    for (let i = 0; i < times; i++) {
      cut += await terminateConnections(environment.database)
      await environment.delay(100)
    }
    const servedAfterMs = await load.untilServed()
    return {
      figures: [`${cut} connections; served again ${servedAfterMs} ms after the last`],
      violations: within(environment.bounds.recoveryMs, servedAfterMs, 'to recover'),
    }
  })
}

/**
 * Locks the pets table repeatedly, while more connections than WORK_MAX send requests and are reset. Slots
 * must be released.
 */
export async function resetConnections(environment: Environment, times: number): Promise<Report> {
  const metricsPort = await freePort()
  const env = { WORK_MAX: String(workMax), METRICS_PORT: String(metricsPort) }
  const title = `connections of clients reset ${times} times`
  return withService(environment, title, env, async ({ origin, load }) => {
    const count = 2 * workMax + 5
    const recoveryMs = await longestOf(times, async () => {
      await whileLocked(environment.database, async () => {
        const sockets = await Promise.all(
          Array.from({ length: count }, (_, n) =>
            sendRequest(environment, origin, `/v1/pets?limit=${n + 1}`),
          ),
        )
        await environment.delay(lockedMs)
        for (const socket of sockets) socket.resetAndDestroy()
      })
      return load.untilServed()
    })
    await load.stop()
    const leaked = await requestsInFlight(environment, `http://127.0.0.1:${metricsPort}/metrics`)
    return {
      figures: [
        `${times * count} reset; served again within ${recoveryMs} ms; ${leaked} requests in flight afterwards`,
      ],
      violations: [
        ...unless(leaked === 0, `${leaked} slots were not released`),
        ...within(environment.bounds.recoveryMs, recoveryMs, 'to serve again after a reset'),
      ],
    }
  })
}

const workMax = 20
const lockedMs = 300

async function sendRequest({ database }: Environment, origin: string, path: string): Promise<net.Socket> {
  const socket = await connect(origin)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${database.key}\r\n\r\n`)
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

/** Locks the pets table beyond HANDLER_TIMEOUT_MS. Refused creates must not be executed later. */
export function abandonWork(environment: Environment, times: number): Promise<Report> {
  const { database, bounds } = environment
  const env = { HANDLER_TIMEOUT_MS: String(bounds.refusedMs) }
  const title = `pets table locked ${times} times, beyond the time limit`
  return withService(environment, title, env, async ({ load, ledger }) => {
    for (let i = 0; i < times; i++) {
      await whileLocked(database, () => environment.delay(2 * bounds.refusedMs))
      await load.untilServed()
    }
    await load.stop()
    const balance = await ledger.balance(database.sql)
    return { figures: [`${balance.unknown} creates were refused`], violations: executedLate(balance) }
  })
}

/** Sets short connection lifetimes in the URL, under transactions. No request may fail. */
export async function recycleConnections(environment: Environment, forMs: number): Promise<Report> {
  const { DATABASE_URL = '' } = environment.database.env
  const env = { DATABASE_URL: `${DATABASE_URL}?max_lifetime=1&idle_timeout=1` }
  const title = `connection lifetime of a second, for ${forMs} ms`
  return withService(environment, title, env, async ({ load, ledger }) => {
    // On a busy machine the first connection of a pool may time out, which is not tested here.
    while (!['200', '201'].every((status) => ledger.statuses.has(status))) await environment.delay(50)
    const before = new Map(ledger.statuses)
    await environment.delay(forMs)
    await load.stop()
    const failures = [...ledger.statuses]
      .filter(([end, count]) => !end.startsWith('2') && count > (before.get(end) ?? 0))
      .map(([end]) => end)
    return { figures: [], violations: unless(failures.length === 0, `there were ${failures.join(', ')}`) }
  })
}
