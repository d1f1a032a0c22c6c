// The service killed, shut down and replaced.

import net from 'node:net'
import { childrenOf } from '../../lib/processes.js'
import type { Service } from '../../lib/service.js'
import { Balancer } from '../balancer.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, withService } from './parts.js'

/** Kills the service and starts it again, as `restart: unless-stopped` does. */
export async function killService(environment: Environment, times: number): Promise<Report> {
  let service = await environment.startService()
  const { port, origin } = new URL(service.origin)
  try {
    return await environment.run(`the service killed ${times} times`, origin, async (load) => {
      const recoveries: number[] = []
      for (let i = 0; i < times; i++) {
        await environment.delay(300)
        await service.stop('SIGKILL')
        const served = load.untilServed()
        served.catch(() => {}) // on an interruption it rejects before startService does
        service = await environment.startService({ PORT: port })
        recoveries.push(await served)
      }
      return { figures: [`served again within ${longest(recoveries)} ms, including the startup`] }
    })
  } finally {
    await service.stop('SIGKILL')
  }
}

/** Kills a worker of an instance, which its primary replaces. */
export function killWorkers(environment: Environment, times: number): Promise<Report> {
  return withService(environment, { WORKERS: '2', LOG_LEVEL: 'info' }, (origin, pid, log) =>
    environment.run(`one of two workers killed ${times} times`, origin, async (load) => {
      const started = () => log.filter((line) => line.includes('Server listening')).length
      const recoveries: number[] = []
      for (let i = 0; i < times; i++) {
        const before = started()
        const [victim = 0] = childrenOf(pid)
        process.kill(victim, 'SIGKILL')
        recoveries.push(await load.untilServed())
        while (started() === before) await environment.delay(20)
      }
      return {
        figures: [`served within ${longest(recoveries)} ms by the other`],
        violations: unless(
          longest(recoveries) < environment.bounds.recoveryMs,
          `it took ${longest(recoveries)} ms until the other served`,
        ),
      }
    }),
  )
}

/** Sends SIGTERM under load, with open connections, some of them idle. */
export async function stopService(environment: Environment, times: number): Promise<Report> {
  let service = await environment.startService()
  const { port, origin } = new URL(service.origin)
  try {
    return await environment.run(
      `the service shut down ${times} times under load`,
      origin,
      async (load, ledger) => {
        const took: number[] = []
        const ends: (number | string)[] = []
        for (let i = 0; i < times; i++) {
          const idle = await openIdle(Number(port), 20)
          await environment.delay(300)
          const startedAt = performance.now()
          ends.push(await service.stop('SIGTERM'))
          took.push(performance.now() - startedAt)
          for (const socket of idle) socket.destroy()
          service = await environment.startService({ PORT: port })
          await load.untilServed()
        }
        await load.stop()
        const { unknownStored } = await ledger.balance(environment.database.sql)
        return {
          figures: [
            `each shutdown took ${longest(took)} ms at most; exit code ${[...new Set(ends)].join(', ')}`,
          ],
          violations: [
            ...unless(
              ends.every((end) => end === 0),
              `exit codes ${ends.join(', ')}`,
            ),
            ...unless(unknownStored === 0, `${unknownStored} requests were executed without a response`),
            ...unless(ledger.count('503') === 0, `${ledger.count('503')} requests were refused`),
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

/** Replaces two instances behind a load balancer one after the other. */
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
      const list = failed.map(([end, count]) => `${end}: ${count}`).join(', ')
      return { figures: [], violations: unless(failed.length === 0, `requests failed: ${list}`) }
    })
  } finally {
    await balancer.stop()
    await Promise.all(services.map((service) => service.stop('SIGKILL')))
  }
}
