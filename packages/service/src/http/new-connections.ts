// Tries now and then whether new connections can be opened to what the service depends on. Without it, a
// name, a certificate or a password that has ended would show when the open connections close, all at once.

import type { FastifyBaseLogger } from 'fastify'
import type { Pools } from '../database/database.js'
import { ReadServers } from '../database/servers.js'
import { Trial } from '../lib/trial.js'
import type { RedisParts } from '../rate-limit/counters.js'

/** The trials by target: `database`, `standbys` and `redis`, as far as the service uses them. */
export type NewConnections = ReadonlyMap<string, Trial>

/** Starts the trials. The caller must stop them. */
export function tryNewConnections(
  { writes, reads }: Pools,
  redis: RedisParts | undefined,
  log: FastifyBaseLogger,
): NewConnections {
  const trials = new Map<string, Trial>()
  const start = (to: string, attempt: () => Promise<unknown>) =>
    trials.set(to, new Trial(attempt, logChange(log, to)))
  start('database', () => writes.tryOpening())
  const { servers } = reads.options
  // While no standby is available, the service tries all of them anyway.
  if (servers instanceof ReadServers)
    start('standbys', async () => servers.isFallback || reads.tryOpening(servers.standbys))
  if (redis !== undefined) start('redis', () => redis.connection.tryConnecting())
  return trials
}

function logChange(log: FastifyBaseLogger, to: string) {
  return (error: Error | undefined) => {
    if (error === undefined) log.info({ to }, 'new connections can be opened again')
    else log.warn({ to, reason: error.message }, 'no new connection can be opened')
  }
}

/** Stops the trials. Resolves when the last attempts have ended. */
export async function stopTrials(trials: NewConnections): Promise<void> {
  await Promise.all([...trials.values()].map((each) => each.stop()))
}
