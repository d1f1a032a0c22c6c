// The ports that the service listens on.

import cluster from 'node:cluster'
import { once } from 'node:events'
import net from 'node:net'
import type { Config } from '../config.js'
import { OperatorError } from '../lib/operator-error.js'

/**
 * Checks that the service can listen on its ports, by listening on them for a moment. It does not listen on a
 * shared port, where it would take connections from other instances.
 * @throws {OperatorError} naming the variable to change
 */
export async function checkPorts({ host, port, reusePort, metricsPort }: Config): Promise<void> {
  if (cluster.isWorker) return // the servers of `npm run dev` share a port
  const servers: net.Server[] = []
  const listen: Listen = async (port, reusePort = false) => {
    const server = net.createServer((socket) => socket.destroy())
    await once(server.listen({ port, host, reusePort }), 'listening')
    servers.push(server)
    return (server.address() as net.AddressInfo).port
  }
  try {
    await (reusePort ? checkSharing(listen) : listen(port)).catch(explainListenError('PORT'))
    if (metricsPort !== undefined) await listen(metricsPort).catch(explainListenError('METRICS_PORT'))
  } finally {
    for (const server of servers) server.close()
  }
}

/** Resolves with the port. */
type Listen = (port: number, reusePort?: boolean) => Promise<number>

// Tries to share a free port. An older Node ignores the option, so the second server cannot listen. On other
// platforms, the first cannot.
async function checkSharing(listen: Listen): Promise<void> {
  try {
    await listen(await listen(0, true), true)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE' && code !== 'ENOTSUP') throw error
    const here = `Node ${process.versions.node} on ${process.platform}`
    throw new OperatorError(
      `REUSE_PORT has no effect with ${here}: ` +
        'it needs Node 22.12, 23.1 or newer, on Linux, FreeBSD, Solaris or AIX',
      { cause: error },
    )
  }
}

const advice: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop the process that uses the port, or set VARIABLE to another port (0: any free port).',
  EACCES: 'Set VARIABLE to a port above 1023.',
  EADDRNOTAVAIL: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
  ENOTFOUND: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
}
const sharing = 'Instances share PORT if each has REUSE_PORT=1, and all run as the same user.'

/**
 * Returns a handler for errors of `listen`. It throws an `OperatorError` for those that the operator can fix.
 */
export function explainListenError(variable: 'PORT' | 'METRICS_PORT') {
  return (error: NodeJS.ErrnoException): never => {
    const hint = advice[error.code ?? '']?.replace('VARIABLE', variable)
    if (hint === undefined) throw error
    const isShareable = variable === 'PORT' && error.code === 'EADDRINUSE'
    const hints = isShareable ? `${hint}\n${sharing}` : hint
    throw new OperatorError(`${error.message}\n${hints}`, { cause: error })
  }
}
