// HAProxy in front of two instances, with the file of deploy/haproxy.

import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { hasEnded, kill } from 'contract-service/tools/lib/child'
import { freePort } from 'contract-testing/port'

/** Whether PATH has a haproxy. */
export const hasHaproxy: boolean = spawnSync('haproxy', ['-v']).error === undefined

/** An instance's ports of 127.0.0.1. */
export interface Ports {
  readonly port: number
  readonly metricsPort: number
}

export interface Haproxy {
  readonly origin: string
  stop(): Promise<void>
}

/**
 * Starts HAProxy, and waits until it forwards requests. It asks each instance for `/readyz`, and takes it out
 * after three failures.
 * @param directory for its file
 * @param checkMs between two of these requests: short, so that a short run is enough to take one out
 */
export async function startHaproxy(
  directory: string,
  instances: readonly [Ports, Ports],
  checkMs: number,
): Promise<Haproxy> {
  const own = await freePort()
  const file = path.join(directory, 'haproxy.cfg')
  writeFileSync(file, configurationOf(own, instances, checkMs))
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  const origin = `http://127.0.0.1:${own}`
  const isForwarding = () =>
    fetch(`${origin}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isForwarding())) {
    if (hasEnded(child)) throw new Error('haproxy failed to start')
    await delay(20)
  }
  return { origin, stop: () => kill(child) }
}

function configurationOf(own: number, instances: readonly [Ports, Ports], checkMs: number): string {
  const given = readFileSync(path.join(projectRoot, 'deploy/haproxy/haproxy.cfg'), 'utf8')
  const servers = instances.map(
    ({ port, metricsPort }, i) => `    server s${i} 127.0.0.1:${port} port ${metricsPort}\n`,
  )
  return given
    .replace(/^ {4}(user|group|chroot) .*\n/gm, '') // for whoever runs this
    .replace('bind :3000', `bind 127.0.0.1:${own}`)
    .replace('inter 2s', `inter ${checkMs}ms`)
    .replace(/( {4}server .*\n)+/, servers.join(''))
}
