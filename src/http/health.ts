// Liveness and readiness probes, without a key or a quota.

import type { FastifyInstance } from 'fastify'
import { migrationNames } from '../database/migration.js'
import { migrationsFolder } from '../lib/paths.js'
import { unavailable } from '../middleware/unavailable.js'
import type { Contract } from '../openapi/index.js'
import type { Counters } from '../rate-limit/counters.js'
import { healthPathsOf } from './health-paths.js'
import { createReadiness, type FindUnready, type ReadinessParts } from './readiness.js'

export interface HealthParts extends ReadinessParts {
  readonly counters: Pick<Counters, 'state'>
}

/**
 * Adds `/healthz` (liveness) and `/readyz` (readiness), or `/-/healthz` and `/-/readyz` if the contract
 * has these. Returns the check of `/readyz`.
 */
export async function addHealth(
  app: FastifyInstance,
  contract: Contract,
  parts: HealthParts,
): Promise<FindUnready> {
  const paths = healthPathsOf(contract)
  const findUnready = createReadiness(parts, await migrationNames(migrationsFolder))
  const isProbe = { config: { isProbe: true } } as const
  app.get(paths.live, isProbe, async () => ({ status: 'ok' }))
  app.get(paths.ready, isProbe, async (request, reply) => {
    // 503 whatever the cause: a load balancer should send requests elsewhere.
    const unready = await findUnready()
    if (unready?.cause === 'closing') request.reason = 'closing'
    if (unready !== undefined) throw unavailable(unready.error)
    if (reply.sent) return undefined // timed out meanwhile
    // The instance serves without Redis: the state of the counters is reported, and no reason for 503.
    return { status: 'ok', counters: parts.counters.state() }
  })
  return findUnready
}
