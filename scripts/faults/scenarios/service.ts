// The service killed, shut down and replaced.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Environment as EnvironmentVariables, Service } from 'contract-service/tools/lib/service'
import { Balancer } from '../balancer.js'
import { type Environment, type Report, unless } from '../environment.js'
import { connect, longestOf, timed } from './parts.js'

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

interface Circumstances {
  readonly title: string
  readonly env?: EnvironmentVariables
  /** What connections without a whole request have sent, in turn. */
  readonly parts?: readonly string[]
}

/** Sends SIGTERM under load, with open connections, some of them idle. */
export async function stopService(
  environment: Environment,
  times: number,
  { title, env = {}, parts = [''] }: Circumstances = {
    title: `the service shut down ${times} times under load`,
  },
): Promise<Report> {
  let service = await environment.startService(env)
  const { port, origin } = new URL(service.origin)
  try {
    return await environment.run(title, origin, async (load, ledger) => {
      const ends: (number | string)[] = []
      const tookMs = await longestOf(times, async () => {
        const idle = await Promise.all(Array.from({ length: 20 }, () => connect(origin)))
        for (const [i, socket] of idle.entries()) socket.write(parts[i % parts.length] ?? '')
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

/** The same with connections that have sent a byte, an empty line, or a part of a header section. */
export function stopAmidHeads(environment: Environment, times: number): Promise<Report> {
  const title = `the service shut down ${times} times, with 20 half-received header sections`
  const parts = ['G', '\r\n', 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nX-Half: ']
  return stopService(environment, times, { title, parts })
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
    const report = await stopService(environment, times, { title, env })
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
