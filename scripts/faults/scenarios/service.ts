// The service killed, shut down and replaced.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Environment as EnvironmentVariables, Service } from '../../lib/service.js'
import { Balancer } from '../balancer.js'
import { Environment, type Report, unless } from '../environment.js'
import { childrenOf } from '../processes.js'
import { connect, longestOf, timed, within, withService } from './parts.js'

/** Kills the service and starts it again, as `restart: unless-stopped` does. */
export async function killService(environment: Environment, times: number): Promise<Report> {
  let service = await environment.startService()
  const { port, origin } = new URL(service.origin)
  try {
    return await environment.run(`the service killed ${times} times`, origin, async (load) => {
      const recoveryMs = await longestOf(times, async () => {
        await environment.delay(300)
        await service.stop('SIGKILL')
        const served = load.untilServed()
        served.catch(() => {}) // on an interruption it rejects before startService does
        service = await environment.startService({ PORT: port })
        return served
      })
      return { figures: [`served again within ${recoveryMs} ms, including the startup`], violations: [] }
    })
  } finally {
    await service.stop('SIGKILL')
  }
}

/** Kills a worker of an instance, which its primary replaces. */
export function killWorkers(environment: Environment, times: number): Promise<Report> {
  const title = `one of two workers killed ${times} times`
  const env = { WORKERS: '2', LOG_LEVEL: 'info' }
  return withService(environment, title, env, async ({ pid, log, load }) => {
    const started = () => log.filter((line) => line.includes('Server listening')).length
    const recoveryMs = await longestOf(times, async () => {
      const before = started()
      const [victim = 0] = childrenOf(pid)
      process.kill(victim, 'SIGKILL')
      const servedAfterMs = await load.untilServed()
      while (started() === before) await environment.delay(20)
      return servedAfterMs
    })
    return {
      figures: [`served within ${recoveryMs} ms by the other`],
      violations: within(environment.bounds.recoveryMs, recoveryMs, 'until the other served'),
    }
  })
}

/** Freezes a worker, which its primary kills and replaces. Its requests end with its connections. */
export function freezeWorker({ database, bounds, clients, interruption }: Environment): Promise<Report> {
  const patient = { ...bounds, slackMs: frozenMs + bounds.slackMs }
  const environment = new Environment(database, patient, clients, interruption)
  const env = { WORKERS: '2', LOG_LEVEL: 'info' }
  return withService(environment, 'one of two workers frozen', env, async ({ pid, log, load }) => {
    const started = () => log.filter((line) => line.includes('Server listening')).length
    const before = started()
    const [victim = 0] = childrenOf(pid)
    process.kill(victim, 'SIGSTOP')
    const servedAfterMs = await load.untilServed()
    const replacedMs = await timed(async () => {
      while (started() === before) await environment.delay(20)
    })
    return {
      figures: [`served within ${servedAfterMs} ms by the other; replaced after ${replacedMs} ms`],
      violations: [
        ...within(bounds.recoveryMs, servedAfterMs, 'until the other served'),
        ...within(patient.slackMs + bounds.recoveryMs, replacedMs, 'to replace the worker'),
      ],
    }
  })
}

// After which the primary kills a worker that does not respond.
const frozenMs = 11_000

/** Sends SIGTERM under load, with open connections, some of them idle. */
export async function stopService(
  environment: Environment,
  times: number,
  title = `the service shut down ${times} times under load`,
  env: EnvironmentVariables = {},
): Promise<Report> {
  let service = await environment.startService(env)
  const { port, origin } = new URL(service.origin)
  try {
    return await environment.run(title, origin, async (load, ledger) => {
      const ends: (number | string)[] = []
      const tookMs = await longestOf(times, async () => {
        const idle = await Promise.all(Array.from({ length: 20 }, () => connect(origin)))
        await environment.delay(300)
        const stopMs = await timed(async () => ends.push(await service.stop('SIGTERM')))
        for (const socket of idle) socket.destroy()
        service = await environment.startService({ ...env, PORT: port })
        await load.untilServed()
        return stopMs
      })
      await load.stop()
      const { unknownStored } = await ledger.balance(environment.database.sql)
      const areClean = ends.every((end) => end === 0)
      return {
        figures: [`each shutdown took ${tookMs} ms at most; exit code ${[...new Set(ends)].join(', ')}`],
        violations: [
          ...unless(areClean, `exit codes ${ends.join(', ')}`),
          ...unless(unknownStored === 0, `${unknownStored} requests were executed without a response`),
          ...unless(ledger.count('503') === 0, `${ledger.count('503')} requests were refused`),
        ],
      }
    })
  } finally {
    await service.stop('SIGKILL')
  }
}

/** The same while the collector refuses all spans, each time with another status. */
export async function refuseSpans(environment: Environment, times: number): Promise<Report> {
  let refused = 0
  const collector = createServer((request, response) => {
    request.resume()
    response.writeHead([400, 401, 404, 500][refused++ % 4] ?? 500).end()
  })
  await once(collector.listen(0, '127.0.0.1'), 'listening')
  const { port } = collector.address() as AddressInfo // of a server that listens on a port
  try {
    const title = `the service shut down ${times} times, with a refusing collector`
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
    const report = await stopService(environment, times, title, env)
    return {
      ...report,
      figures: [`${refused} exports refused`, ...report.figures],
      violations: [...report.violations, ...unless(refused >= times, `only ${refused} exports refused`)],
    }
  } finally {
    collector.closeAllConnections()
    collector.close()
  }
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
