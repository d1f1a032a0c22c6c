// Packet loss between the service and PostgreSQL. No connection is closed.

import { DatabaseProxy } from '../../lib/database-proxy.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, readAndCreated, shortTime, unresponsiveMs, untilReady, withService } from './parts.js'

/** Drops all packets to and from PostgreSQL. */
export async function losePackets(environment: Environment, forMs: number): Promise<Report> {
  const { proxy, env } = await proxied(environment)
  try {
    return await withService(environment, { ...env, ...shortTime }, (origin) =>
      environment.run(`packets to PostgreSQL lost for ${forMs} ms`, origin, async (load, ledger) => {
        proxy.silence()
        await environment.delay(forMs)
        proxy.resume()
        const servedAfterMs = await load.untilServed()
        const refused = ledger.count('503')
        return {
          figures: [`served again ${Math.round(servedAfterMs)} ms after the network’s recovery`],
          violations: [
            ...unless(refused > 0, 'no request met the packet loss'),
            ...unless(
              servedAfterMs < environment.bounds.recoveryMs,
              `it took ${Math.round(servedAfterMs)} ms to recover`,
            ),
          ],
        }
      }),
    )
  } finally {
    proxy.close()
  }
}

/** Makes the open connections to PostgreSQL unresponsive, as when a firewall forgets them or an address moves. New ones work. */
export async function forgetConnections(environment: Environment, times: number): Promise<Report> {
  const { proxy, env } = await proxied(environment)
  try {
    return await withService(environment, { ...env, ...shortTime }, (origin) =>
      environment.run(`connections to PostgreSQL unresponsive ${times} times`, origin, async (_, ledger) => {
        const recoveries: number[] = []
        const unready: number[] = []
        for (let i = 0; i < times; i++) {
          await readAndCreated(environment, ledger)
          proxy.forget()
          const startedAt = performance.now()
          unready.push(await untilReady(environment, origin, false))
          await readAndCreated(environment, ledger)
          recoveries.push(performance.now() - startedAt)
          await untilReady(environment, origin, true)
        }
        const { recoveryMs, slackMs } = environment.bounds
        return {
          figures: [
            `not ready within ${longest(unready)} ms; reads and creates served again within ${longest(recoveries)} ms`,
          ],
          violations: [
            ...unless(longest(unready) < probeMs + slackMs, `still ready after ${longest(unready)} ms`),
            ...unless(
              longest(recoveries) < unresponsiveMs + recoveryMs,
              `it took ${longest(recoveries)} ms to serve again`,
            ),
          ],
        }
      }),
    )
  } finally {
    proxy.close()
  }
}

// The timeout of /readyz for a connection.
const probeMs = 1_000

async function proxied(environment: Environment) {
  const { PGHOST = '', PGPORT = '', PGUSER = '', PGDATABASE = '' } = environment.database.env
  const proxy = await DatabaseProxy.start({ path: `${PGHOST}/.s.PGSQL.${PGPORT}` })
  const DATABASE_URL = `postgres://${PGUSER}@${proxy.host}:${proxy.port}/${PGDATABASE}`
  return { proxy, env: { DATABASE_URL, PGHOST: '', PGPORT: '' } }
}
