// Two instances of the service, and HAProxy in front of them.

import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import type { Service, Environment as Variables } from 'contract-service/tools/lib/service'
import { freePort } from 'contract-testing/port'
import type { Environment, Report } from './environment.js'
import { startHaproxy } from './haproxy.js'

export interface Instance {
  readonly origin: string
  /** The address of its metrics. */
  readonly metrics: string
}

/**
 * Runs `act` with the address of HAProxy before two instances, and theirs.
 * @param checkMs see `startHaproxy`
 */
export function behindHaproxy(
  environment: Environment,
  env: Variables,
  checkMs: number,
  act: (origin: string, instances: readonly Instance[]) => Promise<Report>,
): Promise<Report> {
  return inTemporaryDirectory(async (directory) => {
    const services: Service[] = []
    const start = async () => {
      const metricsPort = await freePort()
      const service = await environment.startService({ ...env, METRICS_PORT: String(metricsPort) })
      services.push(service)
      return { origin: service.origin, metricsPort }
    }
    try {
      const instances = [await start(), await start()] as const
      const [one, other] = instances
      const portsOf = ({ origin, metricsPort }: (typeof instances)[0]) => ({
        port: Number(new URL(origin).port),
        metricsPort,
      })
      const haproxy = await startHaproxy(directory, [portsOf(one), portsOf(other)], checkMs)
      try {
        const metricsOf = (port: number) => `http://127.0.0.1:${port}/metrics`
        return await act(
          haproxy.origin,
          instances.map(({ origin, metricsPort }) => ({ origin, metrics: metricsOf(metricsPort) })),
        )
      } finally {
        await haproxy.stop()
      }
    } finally {
      await Promise.all(services.map((service) => service.stop('SIGKILL')))
    }
  })
}
