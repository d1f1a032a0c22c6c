// The limit of open files, of which a connection is one. At that limit the kernel still makes connections,
// and libuv closes each at once: no event of Node tells it, so that no caller, metric or log line could. The
// service therefore accepts fewer connections than would reach it, and refuses others as over
// CONNECTIONS_MAX.

import { readFileSync } from 'node:fs'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.js'
import { OperatorError } from '../lib/operator-error.js'

/**
 * The files that the process may need besides clients' connections and the pools: 30 at rest, connections to
 * other PostgreSQL servers, Redis, an issuer and a collector, scrapes and probes, and files that handlers
 * open.
 */
export const otherFiles = 100

/** Returns how many files, including sockets, this process may open. Infinite if the system does not tell. */
export function openFilesMax(): number {
  try {
    // The soft limit, which Node has raised to the hard one.
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY // not Linux
  }
}

/**
 * Returns the configuration with as many connections as the limit of open files has room for, and warns if
 * these are fewer than `CONNECTIONS_MAX`.
 * @throws {OperatorError} if there is room for none
 */
export function fitConnections<T extends Pick<Config, 'connectionsMax' | 'databaseConnections'>>(
  config: T,
  log: Pick<FastifyBaseLogger, 'warn'>,
  filesMax = openFilesMax(),
): T {
  const { connectionsMax, databaseConnections } = config
  const room = filesMax - databaseConnections - otherFiles
  if (room >= connectionsMax) return config
  const why =
    `of ${filesMax} open files (ulimit -n), DATABASE_CONNECTIONS may take ${databaseConnections}, ` +
    `and the service keeps ${otherFiles} for what else it opens`
  if (room < 1) throw new OperatorError(`no file is left for a connection: ${why}`)
  log.warn(`CONNECTIONS_MAX is ${connectionsMax}, and ${room} are accepted: ${why}`)
  return Object.freeze({ ...config, connectionsMax: room })
}
