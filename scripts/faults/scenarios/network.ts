// Packets between the service and PostgreSQL that vanish, while no connection is closed.

import { DatabaseProxy } from '../../lib/database-proxy.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, readAndCreated, shortTime, silenceMs, untilReady, withService } from './parts.js'

/** Packets to and from PostgreSQL vanish, while nobody closes a connection. */
export async function losePackets(environment: Environment, forMs: number): Promise<Report> {
  const { proxy, env } = await proxied(environment)
  try {
    return await withService(environment, { ...env, ...shortTime }, (origin) =>
      environment.run(`packets to PostgreSQL lost for ${forMs} ms`, origin, async (load, ledger) => {
        proxy.silence()
        await environment.delay(forMs)
        proxy.resume()
        const back = await load.untilServed()
        const refused = ledger.count('503')
        return {
          figures: [`served again ${Math.round(back)} ms after the network’s return`],
          broken: [
            ...unless(refused > 0, 'no request met the silence'),
            ...unless(back < environment.bounds.recoveryMs, `it took ${Math.round(back)} ms to recover`),
          ],
        }
      }),
    )
  } finally {
    proxy.close()
  }
}

/** The connections to PostgreSQL fall silent, as when a firewall forgets them or an address moves; new ones work. */
export async function forgetConnections(environment: Environment, times: number): Promise<Report> {
  const { proxy, env } = await proxied(environment)
  try {
    return await withService(environment, { ...env, ...shortTime }, (origin) =>
      environment.run(`connections to PostgreSQL silent ${times} times`, origin, async (_, ledger) => {
        const back: number[] = []
        const unready: number[] = []
        for (let i = 0; i < times; i++) {
          await readAndCreated(environment, ledger)
          proxy.forget()
          const began = performance.now()
          unready.push(await untilReady(environment, origin, false))
          await readAndCreated(environment, ledger)
          back.push(performance.now() - began)
          await untilReady(environment, origin, true)
        }
        const { recoveryMs, slackMs } = environment.bounds
        return {
          figures: [
            `not ready within ${longest(unready)} ms; reads and creations again within ${longest(back)} ms`,
          ],
          broken: [
            ...unless(longest(unready) < probeMs + slackMs, `ready for ${longest(unready)} ms of it`),
            ...unless(longest(back) < silenceMs + recoveryMs, `it took ${longest(back)} ms to serve again`),
          ],
        }
      }),
    )
  } finally {
    proxy.close()
  }
}

// Of /readyz, for which a connection has so long to answer.
const probeMs = 1_000

async function proxied(environment: Environment) {
  const { PGHOST = '', PGPORT = '', PGUSER = '', PGDATABASE = '' } = environment.database.env
  const proxy = await DatabaseProxy.start({ path: `${PGHOST}/.s.PGSQL.${PGPORT}` })
  const DATABASE_URL = `postgres://${PGUSER}@${proxy.host}:${proxy.port}/${PGDATABASE}`
  return { proxy, env: { DATABASE_URL, PGHOST: '', PGPORT: '' } }
}
