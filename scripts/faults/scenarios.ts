// The scenarios: each brings about a fault under load, and says what came of it.

import net from 'node:net'
import { pino } from 'pino'
import { startEmbedded } from '../../src/database/embedded/server.js'
import { migrate } from '../../src/database/migrate.js'
import { prepareServiceRole } from '../../src/database/roles.js'
import { migrationsFolder } from '../../src/paths.js'
import { addKey } from '../bench/database.js'
import { DatabaseProxy } from '../lib/database-proxy.js'
import { makeTemporaryDirectory } from '../lib/directory.js'
import { PgBouncer, type PoolMode } from '../lib/pgbouncer.js'
import { freePort } from '../lib/port.js'
import { canMeasureProcesses, childrenOf, residentBytes } from '../lib/processes.js'
import { RedisCluster, RedisServer } from '../lib/redis.js'
import { Replication, urlOf } from '../lib/replication.js'
import type { Service } from '../lib/service.js'
import { Balancer } from './balancer.js'
import { type Environment, type Report, unless } from './environment.js'
import type { Ledger } from './ledger.js'

/** `kill -9` of the service, which something like `restart: unless-stopped` starts again. */
export async function killService(environment: Environment, times: number): Promise<Report> {
  let service = await environment.startService()
  const { port, origin } = new URL(service.origin)
  try {
    return await environment.run(`the service killed ${times} times`, origin, async (load) => {
      const back: number[] = []
      for (let i = 0; i < times; i++) {
        await environment.delay(300)
        await service.stop('SIGKILL')
        const served = load.untilServed()
        served.catch(() => {}) // interrupted, it ends before the start does
        service = await environment.startService({ PORT: port })
        back.push(await served)
      }
      return { figures: [`back within ${longest(back)} ms, its start included`] }
    })
  } finally {
    await service.stop('SIGKILL')
  }
}

/** `kill -9` of one of the workers of an instance, which its primary replaces. */
export function killWorkers(environment: Environment, times: number): Promise<Report> {
  return withService(environment, { WORKERS: '2', LOG_LEVEL: 'info' }, (origin, pid, log) =>
    environment.run(`a worker of two killed ${times} times`, origin, async (load) => {
      const started = () => log.filter((line) => line.includes('Server listening')).length
      const back: number[] = []
      for (let i = 0; i < times; i++) {
        const before = started()
        const [victim = 0] = childrenOf(pid)
        process.kill(victim, 'SIGKILL')
        back.push(await load.untilServed())
        while (started() === before) await environment.delay(20)
      }
      const isLate = Math.max(...back) >= environment.bounds.recoveryMs
      return {
        figures: [`served within ${longest(back)} ms, by the other`],
        broken: unless(!isLate, `it took ${longest(back)} ms to be served by the other`),
      }
    }),
  )
}

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

// Shorter than any freeze or silence, for some requests to meet it.
const shortTime = { HANDLER_TIMEOUT_MS: '2000' }

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

/** The primary of a PostgreSQL with a synchronous standby is killed, or hangs, and the standby is promoted. */
export function failOver(environment: Environment, fault: Fault): Promise<Report> {
  const title = `the primary of PostgreSQL ${past[fault]}, and its standby promoted`
  return withReplication(environment, true, (replication, key) => {
    const { primary, standby, url } = replication
    const own = environment.on({ key, sql: standby.sql, env: { DATABASE_URL: url } })
    return withService(own, shortTime, (origin) =>
      own.run(title, origin, async (_, ledger) => {
        await readAndCreated(own, ledger)
        await own.delay(beforeMs)
        await primary[fault]()
        await own.delay(unpromotedMs)
        await untilReady(own, origin, false)
        await replication.promote()
        const back = Math.round(await readAndCreated(own, ledger))
        await untilReady(own, origin, true)
        return {
          figures: [`reads and creations again ${back} ms after the promotion`],
          broken: unless(
            back < failOverMs + own.bounds.recoveryMs,
            `it took ${back} ms to serve again after the promotion`,
          ),
        }
      }),
    )
  })
}

/** A standby that requests read from is killed, or hangs. No creation may notice, and the primary stands in for reads. */
export function loseStandby(environment: Environment, fault: Fault): Promise<Report> {
  const title = `a standby of PostgreSQL that is read from ${past[fault]}`
  return withReplication(environment, false, ({ primary, standby }, key) => {
    const env = { DATABASE_URL: urlOf(primary), DATABASE_READ_URL: urlOf(standby) }
    const own = environment.on({ key, sql: primary.sql, env }, { mayReadOld: true })
    return withService(own, shortTime, (origin) =>
      own.run(title, origin, async (load, ledger) => {
        await readAndCreated(own, ledger)
        await own.delay(beforeMs)
        await standby[fault]()
        const back = Math.round(await readAndCreated(own, ledger))
        await own.delay(beforeMs)
        await load.stop()
        const refused = ledger.unknown.size
        return {
          figures: [`reads and creations again within ${back} ms`],
          broken: [
            ...unless(back < silenceMs + own.bounds.recoveryMs, `it took ${back} ms to serve again`),
            ...unless(refused === 0, `${refused} creations were refused`),
          ],
        }
      }),
    )
  })
}

type Fault = 'kill' | 'freeze'
const past = { kill: 'killed', freeze: 'frozen' } as const

async function withReplication(
  { interruption }: Environment,
  isSynchronous: boolean,
  act: (replication: Replication, key: string) => Promise<Report>,
): Promise<Report> {
  const { directory, remove } = await makeTemporaryDirectory()
  try {
    const server = await startEmbedded(directory, pino({ level: 'silent' }), interruption)
    await server.stop()
    const replication = await Replication.start(directory, isSynchronous)
    try {
      const { sql } = replication.primary
      await migrate(sql, migrationsFolder)
      return await act(replication, await addKey(sql))
    } finally {
      await replication.close()
    }
  } finally {
    await remove()
  }
}

const beforeMs = 500
const unpromotedMs = 3_000
const failOverMs = 1_000

/** Packets to and from PostgreSQL vanish, while nobody closes a connection. */
export async function losePackets(environment: Environment, forMs: number): Promise<Report> {
  const { proxy, env } = await proxied(environment)
  try {
    return await withService(environment, { ...env, ...shortTime }, (origin) =>
      environment.run(`packets to PostgreSQL lost for ${forMs} ms`, origin, async (load, ledger) => {
        proxy.silence()
        await environment.delay(forMs)
        proxy.resume()
        const back = await load.untilServed()
        const refused = ledger.count('503')
        return {
          figures: [`served again ${Math.round(back)} ms after the network’s return`],
          broken: [
            ...unless(refused > 0, 'no request met the silence'),
            ...unless(back < environment.bounds.recoveryMs, `it took ${Math.round(back)} ms to recover`),
          ],
        }
      }),
    )
  } finally {
    proxy.close()
  }
}

/** The connections to PostgreSQL fall silent, as when a firewall forgets them or an address moves; new ones work. */
export async function forgetConnections(environment: Environment, times: number): Promise<Report> {
  const { proxy, env } = await proxied(environment)
  try {
    return await withService(environment, { ...env, ...shortTime }, (origin) =>
      environment.run(`connections to PostgreSQL silent ${times} times`, origin, async (_, ledger) => {
        const back: number[] = []
        const unready: number[] = []
        for (let i = 0; i < times; i++) {
          await readAndCreated(environment, ledger)
          proxy.forget()
          const began = performance.now()
          unready.push(await untilReady(environment, origin, false))
          await readAndCreated(environment, ledger)
          back.push(performance.now() - began)
          await untilReady(environment, origin, true)
        }
        const { recoveryMs, slackMs } = environment.bounds
        return {
          figures: [
            `not ready within ${longest(unready)} ms; reads and creations again within ${longest(back)} ms`,
          ],
          broken: [
            ...unless(longest(unready) < probeMs + slackMs, `ready for ${longest(unready)} ms of it`),
            ...unless(longest(back) < silenceMs + recoveryMs, `it took ${longest(back)} ms to serve again`),
          ],
        }
      }),
    )
  } finally {
    proxy.close()
  }
}

// After which a connection is given up, in `shortTime`: PostgreSQL may work at a statement for a second, and a second is for the way.
const silenceMs = 2_000
const probeMs = 1_000

// Resolves when a read and a creation were served, with the milliseconds until then; an answer that is on its way does not count.
async function readAndCreated(environment: Environment, ledger: Ledger): Promise<number> {
  const began = performance.now()
  await environment.delay(50)
  const before = ['200', '201'].map((status) => ledger.count(status))
  while (['200', '201'].some((status, i) => ledger.count(status) === before[i])) await environment.delay(10)
  return performance.now() - began
}

async function untilReady(environment: Environment, origin: string, isReady: boolean): Promise<number> {
  const began = performance.now()
  while ((await fetch(`${origin}/readyz`)).ok !== isReady) await environment.delay(20)
  return performance.now() - began
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

async function proxied(environment: Environment) {
  const { PGHOST = '', PGPORT = '', PGUSER = '', PGDATABASE = '' } = environment.database.env
  const proxy = await DatabaseProxy.start({ path: `${PGHOST}/.s.PGSQL.${PGPORT}` })
  const DATABASE_URL = `postgres://${PGUSER}@${proxy.host}:${proxy.port}/${PGDATABASE}`
  return { proxy, env: { DATABASE_URL, PGHOST: '', PGPORT: '' } }
}

/** `kill -9` of Redis and a start without what it held, then a freeze. No caller may notice. */
export function loseRedis(environment: Environment, times: number, frozenMs: number): Promise<Report> {
  return withRedis((redis) =>
    withService(environment, { REDIS_URL: redis.url }, (origin) =>
      environment.run(
        `Redis killed ${times} times, and frozen for ${frozenMs} ms`,
        origin,
        async (load, ledger) => {
          for (let i = 0; i < times; i++) {
            await environment.delay(200)
            await redis.kill()
            await environment.delay(200)
            await redis.start()
            await load.untilServed()
          }
          redis.freeze()
          await environment.delay(frozenMs)
          redis.thaw()
          const back = await load.untilServed()
          return {
            figures: [`served ${Math.round(back)} ms after the thaw`],
            broken: unnoticed(environment, ledger),
          }
        },
      ),
    ),
  )
}

/** `kill -9` of the master of a Redis cluster that has the counts, for which its replica is promoted. No caller may notice. */
export async function failOverRedis(environment: Environment): Promise<Report> {
  const { directory, remove } = await makeTemporaryDirectory()
  try {
    const cluster = await RedisCluster.start(directory)
    try {
      return await withService(environment, { REDIS_URL: cluster.url }, (origin) =>
        environment.run(
          'a master of a Redis cluster killed, and its replica promoted',
          origin,
          async (load, ledger) => {
            await (await cluster.masterOf('animal-store:*:minute')).kill()
            await untilCounted(environment, origin, 'memory_fallback')
            await cluster.untilPromoted()
            const took = Math.round(await untilCounted(environment, origin, 'redis'))
            await load.untilServed()
            return {
              figures: [`counts shared again ${took} ms after the promotion`],
              broken: [
                ...unnoticed(environment, ledger),
                ...unless(took < environment.bounds.recoveryMs, `it took ${took} ms to share counts again`),
              ],
            }
          },
        ),
      )
    } finally {
      await cluster.kill()
    }
  } finally {
    await remove()
  }
}

async function untilCounted(environment: Environment, origin: string, place: string): Promise<number> {
  const began = performance.now()
  for (;;) {
    const { counters } = (await (await fetch(`${origin}/readyz`)).json()) as { counters: string }
    if (counters === place) return performance.now() - began
    await environment.delay(20)
  }
}

// No request failed or waited.
function unnoticed({ bounds }: Environment, { statuses, slowestMs }: Ledger): string[] {
  const failures = [...statuses.keys()].filter((end) => !end.startsWith('2') && end !== '409')
  return [
    ...unless(failures.length === 0, `there were ${failures.join(', ')}`),
    ...unless(slowestMs < bounds.unnoticedMs, `a request took ${Math.round(slowestMs)} ms`),
  ]
}

/** Animals locked for longer than an answer may take, then `kill -9` of PgBouncer and its start. */
export async function restartPooler(
  environment: Environment,
  mode: PoolMode,
  times: number,
): Promise<Report> {
  const { database, bounds } = environment
  const { PGHOST: host = '', PGPORT = '', PGDATABASE = '' } = database.env
  const login = { name: `pooled_${mode}`, password: 'x' }
  await prepareServiceRole(database.sql, login, bounds.refusedMs)
  const { directory, remove } = await makeTemporaryDirectory()
  const target = { host, port: Number(PGPORT) }
  const bouncer = await PgBouncer.start(directory, target, mode, { [login.name]: '' })
  const env = {
    DATABASE_URL: `postgres://${login.name}@127.0.0.1:${bouncer.port}/${PGDATABASE}`,
    HANDLER_TIMEOUT_MS: String(bounds.refusedMs),
    ...{ PGHOST: '', PGPORT: '', PGUSER: '' },
  }
  const title = `by a PgBouncer that pools by the ${mode}: animals locked beyond the time limit, and it killed ${times} times`
  try {
    return await withService(environment, env, (origin) =>
      environment.run(title, origin, async (load, ledger) => {
        await environment.faults.whileLocked(() => environment.delay(2 * bounds.refusedMs))
        await load.untilServed()
        const { unknown, unknownStored } = await ledger.balance(database.sql)
        const back: number[] = []
        for (let i = 0; i < times; i++) {
          await environment.delay(300)
          await bouncer.kill()
          await environment.delay(100)
          await bouncer.start()
          back.push(await load.untilServed())
        }
        return {
          figures: [`${unknown} creations were refused, and served within ${longest(back)} ms after a kill`],
          broken: [
            ...unless(unknown > 0, 'no creation met a lock'),
            ...unless(unknownStored === 0, `${unknownStored} creations were done after their 503`),
            ...unless(
              Math.max(...back) < bounds.recoveryMs,
              `it took ${longest(back)} ms to be served again`,
            ),
          ],
        }
      }),
    )
  } finally {
    await bouncer.kill()
    await remove()
  }
}

/** SIGTERM under load, with clients that keep their connections, some of them idle. */
export async function stopService(environment: Environment, times: number): Promise<Report> {
  let service = await environment.startService()
  const { port, origin } = new URL(service.origin)
  try {
    return await environment.run(
      `the service stopped ${times} times under load`,
      origin,
      async (load, ledger) => {
        const took: number[] = []
        const ends: (number | string)[] = []
        for (let i = 0; i < times; i++) {
          const idle = await openIdle(Number(port), 20)
          await environment.delay(300)
          const began = performance.now()
          ends.push(await service.stop('SIGTERM'))
          took.push(performance.now() - began)
          for (const socket of idle) socket.destroy()
          service = await environment.startService({ PORT: port })
          await load.untilServed()
        }
        await load.stop()
        const { unknownStored } = await ledger.balance(environment.database.sql)
        return {
          figures: [`each stop took ${longest(took)} ms at most and exited ${[...new Set(ends)].join(', ')}`],
          broken: [
            ...unless(
              ends.every((end) => end === 0),
              `it exited ${ends.join(', ')}`,
            ),
            ...unless(unknownStored === 0, `${unknownStored} requests were done but not answered`),
            ...unless(ledger.count('503') === 0, `${ledger.count('503')} were refused`),
          ],
        }
      },
    )
  } finally {
    await service.stop('SIGKILL')
  }
}

async function openIdle(port: number, count: number): Promise<net.Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = net.connect(port, '127.0.0.1')
      socket.on('error', () => {})
      await new Promise((resolve) => socket.once('connect', resolve))
      return socket
    }),
  )
}

/** Two instances behind a proxy, replaced one after the other, so many times. */
export async function deploy(environment: Environment, times: number): Promise<Report> {
  const env = { SHUTDOWN_DELAY_MS: String(environment.bounds.announcementMs) }
  const balancer = new Balancer()
  const origin = await balancer.start()
  const services: Service[] = []
  const start = async () => {
    const service = await environment.startService(env)
    services.push(service)
    await balancer.add(service.origin)
  }
  try {
    await start()
    await start()
    return await environment.run(`two instances replaced ${times} times`, origin, async (_load, ledger) => {
      for (let i = 0; i < times; i++) {
        await environment.delay(200)
        await start()
        const old = services[i]
        await old?.stop('SIGTERM')
        balancer.remove(old?.origin ?? '')
      }
      const failed = [...ledger.statuses].filter(([end]) => !end.startsWith('2'))
      const words = failed.map(([end, count]) => `${end}: ${count}`).join(', ')
      return { figures: [], broken: unless(failed.length === 0, `requests failed: ${words}`) }
    })
  } finally {
    await balancer.stop()
    await Promise.all(services.map((service) => service.stop('SIGKILL')))
  }
}

async function withService(
  environment: Environment,
  env: Record<string, string>,
  act: (origin: string, pid: number, log: Service['log']) => Promise<Report>,
): Promise<Report> {
  const service = await environment.startService(env)
  const crashed = () => service.child.exitCode !== null || service.child.signalCode !== null
  try {
    const report = await act(service.origin, service.child.pid ?? 0, service.log)
    return { ...report, broken: [...report.broken, ...unless(!crashed(), 'the service crashed')] }
  } finally {
    await service.stop('SIGKILL')
  }
}

async function withRedis(act: (redis: RedisServer) => Promise<Report>): Promise<Report> {
  const { directory, remove } = await makeTemporaryDirectory()
  try {
    const redis = await RedisServer.start(directory)
    try {
      return await act(redis)
    } finally {
      await redis.kill()
    }
  } finally {
    await remove()
  }
}

function longest(all: readonly number[]): number {
  return Math.round(Math.max(...all))
}
