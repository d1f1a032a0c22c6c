// The faults, one after the other.

import net from 'node:net'
import { makeTemporaryDirectory } from '../stack/directory.js'
import { canMeasureProcesses, residentBytes } from '../stack/processes.js'
import { RedisServer } from '../stack/redis.js'
import { Balancer } from './balancer.js'
import { delay } from './load.js'
import { type Report, type Stage, unless } from './stage.js'

/** `kill -9` of the service, which something like `restart: unless-stopped` starts again. */
export async function killService(stage: Stage, times: number): Promise<Report> {
  let service = await stage.startService()
  const { port, origin } = new URL(service.origin)
  try {
    return await stage.play(`the service killed ${times} times`, origin, async (load) => {
      const back: number[] = []
      for (let i = 0; i < times; i++) {
        await delay(300)
        await service.stop('SIGKILL')
        const served = load.untilServed()
        service = await stage.startService({ PORT: port })
        back.push(await served)
      }
      return { figures: [`back within ${longest(back)} ms, its start included`] }
    })
  } finally {
    await service.stop('SIGKILL')
  }
}

/** `kill -9` of PostgreSQL, which its supervisor starts again. */
export function killDatabase(stage: Stage, times: number): Promise<Report> {
  return withService(stage, {}, (origin) =>
    stage.play(`PostgreSQL killed ${times} times`, origin, async (load) => {
      const back: number[] = []
      for (let i = 0; i < times; i++) {
        await delay(300)
        stage.faults.kill()
        await delay(20) // for the connections to be gone
        back.push(await load.untilServed())
      }
      return { figures: [`back within ${longest(back)} ms, its recovery included`] }
    }),
  )
}

/** PostgreSQL stopped in its tracks and thawed. */
export function freezeDatabase(stage: Stage, forMs: number): Promise<Report> {
  return withService(stage, {}, (origin, pid) =>
    stage.play(`PostgreSQL frozen for ${forMs} ms`, origin, async (load) => {
      const before = residentBytes(pid)
      await stage.faults.freeze()
      await delay(forMs)
      const alive = await fetch(`${origin}/healthz`)
      const grown = residentBytes(pid) - before
      stage.faults.thaw()
      const back = await load.untilServed()
      await delay(500)
      const connections = await stage.faults.connections()
      return {
        figures: [
          `served again ${Math.round(back)} ms after the thaw; ${connections} connections`,
          ...(canMeasureProcesses ? [`memory grew by ${Math.round(grown / 2 ** 20)} MB`] : []),
        ],
        broken: [
          ...unless(back < 1_000, `it took ${Math.round(back)} ms to recover`),
          ...unless(connections <= connectionsMax, `${connections} connections`),
          ...unless(!(grown > 200 * 2 ** 20), `memory grew by ${grown} bytes`),
          ...unless(alive.ok, `/healthz answered ${alive.status} meanwhile`),
        ],
      }
    }),
  )
}

// A pool of 4, two lanes that read and eight that write, and one that listens.
const connectionsMax = 15

/** Every connection to PostgreSQL cut, many times. */
export function cutConnections(stage: Stage, times: number): Promise<Report> {
  return withService(stage, {}, (origin) =>
    stage.play(`connections to PostgreSQL cut ${times} times`, origin, async (load) => {
      let cut = 0
      for (let i = 0; i < times; i++) {
        cut += await stage.faults.cut()
        await delay(100)
      }
      const back = await load.untilServed()
      return {
        figures: [`${cut} connections; served again ${Math.round(back)} ms after the last`],
        broken: unless(back < 1_000, `it took ${Math.round(back)} ms to recover`),
      }
    }),
  )
}

/** `kill -9` of Redis and a start without what it held, then a freeze. No caller may notice. */
export function loseRedis(stage: Stage, times: number, frozenMs: number): Promise<Report> {
  return withRedis((redis) =>
    withService(stage, { REDIS_URL: redis.url }, (origin) =>
      stage.play(
        `Redis killed ${times} times, and frozen for ${frozenMs} ms`,
        origin,
        async (load, ledger) => {
          for (let i = 0; i < times; i++) {
            await delay(200)
            await redis.kill()
            await delay(200)
            await redis.start()
            await load.untilServed()
          }
          redis.freeze()
          await delay(frozenMs)
          redis.thaw()
          const back = await load.untilServed()
          const failures = [...ledger.statuses.keys()].filter((end) => !end.startsWith('2') && end !== '409')
          return {
            figures: [`served ${Math.round(back)} ms after the thaw`],
            broken: [
              ...unless(failures.length === 0, `there were ${failures.join(', ')}`),
              ...unless(ledger.slowestMs < 1_000, `a request took ${Math.round(ledger.slowestMs)} ms`),
            ],
          }
        },
      ),
    ),
  )
}

/** SIGTERM under load, with clients that keep their connections, some of them idle. */
export async function stopService(stage: Stage, times: number): Promise<Report> {
  let service = await stage.startService()
  const { port, origin } = new URL(service.origin)
  try {
    return await stage.play(`the service stopped ${times} times under load`, origin, async (load, ledger) => {
      const took: number[] = []
      const ends: (number | string)[] = []
      for (let i = 0; i < times; i++) {
        const idle = await openIdle(Number(port), 20)
        await delay(300)
        const began = performance.now()
        ends.push(await service.stop('SIGTERM'))
        took.push(performance.now() - began)
        for (const socket of idle) socket.destroy()
        service = await stage.startService({ PORT: port })
        await load.untilServed()
      }
      await load.stop()
      const { unknownStored } = await ledger.balance(stage.database.sql)
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
    })
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
export async function deploy(stage: Stage, times: number): Promise<Report> {
  const environment = { SHUTDOWN_DELAY_MS: '500' }
  const balancer = new Balancer()
  const origin = await balancer.start()
  const services = await Promise.all([stage.startService(environment), stage.startService(environment)])
  try {
    for (const service of services) await balancer.add(service.origin)
    return await stage.play(`two instances replaced ${times} times`, origin, async (_load, ledger) => {
      for (let i = 0; i < times; i++) {
        await delay(200)
        const [old] = services.splice(0, 1)
        const fresh = await stage.startService(environment)
        services.push(fresh)
        await balancer.add(fresh.origin)
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
  stage: Stage,
  environment: Record<string, string>,
  act: (origin: string, pid: number) => Promise<Report>,
): Promise<Report> {
  const service = await stage.startService(environment)
  const crashed = () => service.child.exitCode !== null || service.child.signalCode !== null
  try {
    const report = await act(service.origin, service.child.pid ?? 0)
    return { ...report, broken: [...report.broken, ...unless(!crashed(), 'the service crashed')] }
  } finally {
    await service.stop('SIGKILL')
  }
}

async function withRedis(act: (redis: RedisServer) => Promise<Report>): Promise<Report> {
  const { directory, remove } = await makeTemporaryDirectory()
  const redis = await RedisServer.start(directory)
  try {
    return await act(redis)
  } finally {
    await redis.kill()
    await remove()
  }
}

function longest(all: readonly number[]): number {
  return Math.round(Math.max(...all))
}
