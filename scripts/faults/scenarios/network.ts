// Packet loss between the service and PostgreSQL. No connection is closed.

import { type Environment, type Report, unless } from '../environment.js'
import {
  longestOf,
  readAndCreated,
  shortTime,
  timed,
  unresponsiveMs,
  untilReady,
  within,
  withProxy,
  withService,
} from './parts.js'

/** Drops all packets to and from PostgreSQL. */
export function losePackets(environment: Environment, forMs: number): Promise<Report> {
  const title = `packets to PostgreSQL lost for ${forMs} ms`
  return withProxy(environment, (proxy, env) =>
    withService(environment, title, { ...env, ...shortTime }, async ({ load, ledger }) => {
      proxy.silence()
      await environment.delay(forMs)
      proxy.resume()
      const servedAfterMs = await load.untilServed()
      return {
        figures: [`served again ${servedAfterMs} ms after the network’s recovery`],
        violations: [
          ...unless(ledger.count('503') > 0, 'no request met the packet loss'),
          ...within(environment.bounds.recoveryMs, servedAfterMs, 'to recover'),
        ],
      }
    }),
  )
}

/** Makes the open connections to PostgreSQL unresponsive, as when a firewall forgets them. New ones work. */
export function forgetConnections(environment: Environment, times: number): Promise<Report> {
  const { recoveryMs, slackMs } = environment.bounds
  const title = `connections to PostgreSQL unresponsive ${times} times`
  return withProxy(environment, (proxy, env) =>
    withService(environment, title, { ...env, ...shortTime }, async ({ origin, ledger }) => {
      let unreadyMs = 0
      const servedMs = await longestOf(times, async () => {
        await readAndCreated(environment, ledger)
        proxy.forget()
        const tookMs = await timed(async () => {
          unreadyMs = Math.max(unreadyMs, await untilReady(environment, origin, false))
          await readAndCreated(environment, ledger)
        })
        await untilReady(environment, origin, true)
        return tookMs
      })
      return {
        figures: [`not ready within ${unreadyMs} ms; reads and creates served again within ${servedMs} ms`],
        violations: [
          ...unless(unreadyMs < probeMs + slackMs, `still ready after ${unreadyMs} ms`),
          ...within(unresponsiveMs + recoveryMs, servedMs, 'to serve again'),
        ],
      }
    }),
  )
}

// The timeout of /readyz for a connection.
const probeMs = 1_000
