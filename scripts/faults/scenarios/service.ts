// The service itself killed, stopped and replaced.

import net from 'node:net'
import { childrenOf } from '../../lib/processes.js'
import type { Service } from '../../lib/service.js'
import { Balancer } from '../balancer.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, withService } from './parts.js'

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
