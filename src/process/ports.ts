// The ports that the service listens on.

import cluster from 'node:cluster'
import { once } from 'node:events'
import net from 'node:net'
import type { Config } from '../config.js'
import { OperatorError } from '../lib/operator-error.js'

/**
 * Checks that the service can listen on its ports, by listening on them for a moment.
 * @throws {OperatorError} naming the variable to change
 */
export async function checkPorts({ host, port, metricsPort }: Config): Promise<void> {
  if (cluster.isWorker) return // of `npm run dev`, whose servers share a port
  const servers: net.Server[] = []
  const check = async (port: number) => {
    const server = net.createServer((socket) => socket.destroy())
    await once(server.listen(port, host), 'listening')
    servers.push(server)
  }
  try {
    await check(port).catch(explainListenError('PORT'))
    if (metricsPort !== undefined) await check(metricsPort).catch(explainListenError('METRICS_PORT'))
  } finally {
    for (const server of servers) server.close()
  }
}

const advice: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop the process that uses the port, or set VARIABLE to another port (0: any free port).',
  EACCES: 'Set VARIABLE to a port above 1023.',
  EADDRNOTAVAIL: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
  ENOTFOUND: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
}

/** A handler for errors of `listen` that rethrows those the operator can fix as an `OperatorError`. */
export function explainListenError(variable: 'PORT' | 'METRICS_PORT') {
  return (error: NodeJS.ErrnoException): never => {
    const hint = advice[error.code ?? '']?.replace('VARIABLE', variable)
    throw hint === undefined ? error : new OperatorError(`${error.message}\n${hint}`, { cause: error })
  }
}
