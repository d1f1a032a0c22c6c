// Liveness and readiness probes, without a key or a quota.

import type { Contract } from 'contract-engine'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { migrationNames } from '../database/migration.js'
import { migrationsFolders } from '../lib/paths.js'
import { unavailable } from '../middleware/unavailable.js'
import type { Counters } from '../rate-limit/counters.js'
import { createReadiness, type FindFault, type ReadinessParts } from './readiness.js'
import { healthPathsOf } from './service-paths.js'

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
): Promise<FindFault> {
  const paths = healthPathsOf(contract)
  const findFault = logDegraded(createReadiness(parts, await migrationNames(migrationsFolders)), app.log)
  const isProbe = { config: { isProbe: true } } as const
  app.get(paths.live, isProbe, async () => ({ status: 'ok' }))
  app.get(paths.ready, isProbe, async (request, reply) => {
    const fault = await findFault()
    if (fault?.cause === 'closing') request.reason = 'closing'
    // 503 whatever the cause: a load balancer should send requests elsewhere.
    if (fault?.isReady === false) throw unavailable(fault.error)
    if (reply.sent) return undefined // timed out meanwhile
    const status = fault === undefined ? { status: 'ok' } : { status: 'degraded', cause: fault.cause }
    // The instance also serves without Redis, so the response only reports the state of the counters.
    return { ...status, counters: parts.counters.state() }
  })
  return findFault
}

// Logs a fault that leaves the instance ready when it begins, changes and ends, because it may fail no
// request. Other faults appear in the log lines of the 503s.
function logDegraded(findFault: FindFault, log: FastifyBaseLogger): FindFault {
  let known: string | undefined
  return async () => {
    const fault = await findFault()
    if (fault?.isReady === false || fault?.cause === known) return fault
    known = fault?.cause
    if (fault === undefined) log.info('no longer degraded')
    else log.warn({ cause: fault.cause, err: fault.error }, 'degraded')
    return fault
  }
}
