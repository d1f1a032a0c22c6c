// PostgreSQL killed, frozen and locked, and connections to it and to the service cut.

import net from 'node:net'
import { freePort } from '../../lib/port.js'
import { canMeasureProcesses, residentBytes } from '../../lib/processes.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, shortTime, withService } from './parts.js'

/** `kill -9` of PostgreSQL, which its supervisor starts again. */
export function killDatabase(environment: Environment, times: number): Promise<Report> {
  return withService(environment, {}, (origin) =>
    environment.run(`PostgreSQL killed ${times} times`, origin, async (load) => {
      const back: number[] = []
      for (let i = 0; i < times; i++) {
        await environment.delay(300)
        const began = performance.now()
        await environment.faults.kill() // until when a connection that lingers may still serve
        await load.untilServed()
        back.push(performance.now() - began)
      }
      return { figures: [`back within ${longest(back)} ms, its recovery included`] }
    }),
  )
}

/** PostgreSQL stopped in its tracks and thawed. */
export function freezeDatabase(environment: Environment, forMs: number): Promise<Report> {
  return withService(environment, shortTime, (origin, pid) =>
    environment.run(`PostgreSQL frozen for ${forMs} ms`, origin, async (load) => {
      const before = residentBytes(pid)
      const { alive, grown } = await environment.faults.whileFrozen(async () => {
        await environment.delay(forMs)
        return { alive: await fetch(`${origin}/healthz`), grown: residentBytes(pid) - before }
      })
      const back = await load.untilServed()
      const connections = await connectionsAfter(environment)
      return {
        figures: [
          `served again ${Math.round(back)} ms after the thaw; ${connections} connections`,
          ...(canMeasureProcesses ? [`memory grew by ${Math.round(grown / 2 ** 20)} MB`] : []),
        ],
        broken: [
          ...unless(back < environment.bounds.recoveryMs, `it took ${Math.round(back)} ms to recover`),
          ...unless(connections <= connectionsMax, `${connections} connections`),
          ...unless(!(grown > 200 * 2 ** 20), `memory grew by ${grown} bytes`),
          ...unless(alive.ok, `/healthz answered ${alive.status} meanwhile`),
        ],
      }
    }),
  )
}

// One for keys, two that read, eight that write and one that listens; up to four are of the start.
const connectionsMax = 16

// The service has given up the old ones; PostgreSQL may take a moment to see it.
async function connectionsAfter(environment: Environment): Promise<number> {
  const deadline = performance.now() + environment.bounds.recoveryMs
  for (;;) {
    await environment.delay(500)
    const connections = await environment.faults.connections()
    if (connections <= connectionsMax || performance.now() > deadline) return connections
  }
}

/** Every connection to PostgreSQL cut, many times. */
export function cutConnections(environment: Environment, times: number): Promise<Report> {
  return withService(environment, {}, (origin) =>
    environment.run(`connections to PostgreSQL cut ${times} times`, origin, async (load) => {
      let cut = 0
      for (let i = 0; i < times; i++) {
        cut += await environment.faults.cut()
        await environment.delay(100)
      }
      const back = await load.untilServed()
      return {
        figures: [`${cut} connections; served again ${Math.round(back)} ms after the last`],
        broken: unless(back < environment.bounds.recoveryMs, `it took ${Math.round(back)} ms to recover`),
      }
    }),
  )
}

/**
 * The table of animals locked, many times, each time while more connections than there are places ask for it and are reset. What was
 * held for them is given back, and what they asked for is done for nobody.
 */
export async function resetConnections(environment: Environment, times: number): Promise<Report> {
  const metricsPort = await freePort()
  const env = { WORK_MAX: String(resetWorkMax), METRICS_PORT: String(metricsPort) }
  return withService(environment, env, (origin) =>
    environment.run(`connections of clients reset ${times} times`, origin, async (load) => {
      const back: number[] = []
      let count = 0
      for (let i = 0; i < times; i++) {
        await environment.faults.whileLocked(async () => {
          const sockets = await Promise.all(
            Array.from({ length: 2 * resetWorkMax + 5 }, (_, n) =>
              ask(environment, origin, `/v1/pets?limit=${n + 1}`),
            ),
          )
          count += sockets.length
          await environment.delay(lockedMs)
          for (const socket of sockets) socket.resetAndDestroy()
        })
        back.push(await load.untilServed())
      }
      await load.stop()
      const held = await heldPlaces(environment, `http://127.0.0.1:${metricsPort}/metrics`)
      return {
        figures: [`${count} reset; served again within ${longest(back)} ms; ${held} places held afterwards`],
        broken: [
          ...unless(held === 0, `${held} places were not given back`),
          ...unless(
            longest(back) < environment.bounds.recoveryMs,
            `it took ${longest(back)} ms to serve again after a reset`,
          ),
        ],
      }
    }),
  )
}

const resetWorkMax = 20
const lockedMs = 300

async function ask(environment: Environment, origin: string, path: string): Promise<net.Socket> {
  const { port, hostname } = new URL(origin)
  const socket = net.connect(Number(port), hostname)
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${environment.database.key}\r\n\r\n`)
  return socket
}

// What the last of them began may be under way for a moment.
async function heldPlaces(environment: Environment, url: string): Promise<number> {
  const deadline = performance.now() + environment.bounds.recoveryMs
  for (;;) {
    const text = await (await fetch(url)).text()
    const held = Number(/^animal_store_requests_in_flight (.*)$/m.exec(text)?.[1])
    if (held === 0 || performance.now() > deadline) return held
    await environment.delay(50)
  }
}

/** The table of animals locked beyond the time limit of requests: what was refused meanwhile is not done when the lock goes. */
export function abandonWork(environment: Environment, times: number): Promise<Report> {
  const { refusedMs } = environment.bounds
  const env = { HANDLER_TIMEOUT_MS: String(refusedMs) }
  return withService(environment, env, (origin) =>
    environment.run(`animals locked ${times} times, beyond the time limit`, origin, async (load, ledger) => {
      for (let i = 0; i < times; i++) {
        await environment.faults.whileLocked(() => environment.delay(2 * refusedMs))
        await load.untilServed()
      }
      await load.stop()
      const { unknown, unknownStored } = await ledger.balance(environment.database.sql)
      return {
        figures: [`${unknown} creations were refused`],
        broken: [
          ...unless(unknown > 0, 'no creation met a lock'),
          ...unless(unknownStored === 0, `${unknownStored} creations were done after their 503`),
        ],
      }
    }),
  )
}

/** Connections for which the URL asks a short life, under transactions. Nobody may notice. */
export async function recycleConnections(environment: Environment, forMs: number): Promise<Report> {
  const { DATABASE_URL = '' } = environment.database.env
  const url = `${DATABASE_URL}?max_lifetime=1&idle_timeout=1`
  return withService(environment, { DATABASE_URL: url }, (origin) =>
    environment.run(
      `connections asked to live for a second, for ${forMs} ms`,
      origin,
      async (load, ledger) => {
        // The first connection of a kind may take a busy machine longer than a connection may take; it is not what is tried.
        while (!['200', '201'].every((status) => ledger.statuses.has(status))) await environment.delay(50)
        const before = new Map(ledger.statuses)
        await environment.delay(forMs)
        await load.stop()
        const failures = [...ledger.statuses]
          .filter(([end, count]) => !end.startsWith('2') && count > (before.get(end) ?? 0))
          .map(([end]) => end)
        return { figures: [], broken: unless(failures.length === 0, `there were ${failures.join(', ')}`) }
      },
    ),
  )
}
