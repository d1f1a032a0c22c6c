// Liveness and readiness probes, without a key or a quota.

import type { FastifyInstance } from 'fastify'
import type { Sql } from '../database/database.js'
import { isMigrated } from '../database/migrate.js'
import { migrationNames } from '../database/migration.js'
import { unlessAborted } from '../lib/abort.js'
import { migrationsFolder } from '../lib/paths.js'
import { singleFlight } from '../lib/shared-calls.js'
import { unavailable } from '../middleware/unavailable.js'
import type { Contract } from '../openapi/index.js'
import type { Counters } from '../rate-limit/counters.js'
import { healthPathsOf } from './health-paths.js'

export interface HealthParts {
  readonly sql: Sql
  /** Rejects if the connections that serve requests do not respond in time. */
  readonly probe: (timeoutMs: number) => Promise<unknown>
  readonly counters: Pick<Counters, 'state'>
  readonly isClosing: () => boolean
}

const probeTimeoutMs = 1_000

/**
 * Adds `/healthz` (liveness) and `/readyz` (readiness), or `/-/healthz` and `/-/readyz` if the contract
 * has these.
 */
export async function addHealth(app: FastifyInstance, contract: Contract, parts: HealthParts): Promise<void> {
  const { counters, isClosing } = parts
  const paths = healthPathsOf(contract)
  const checkDatabase = createDatabaseCheck(parts, await migrationNames(migrationsFolder))
  const isProbe = { config: { isProbe: true } } as const
  app.get(paths.live, isProbe, async () => ({ status: 'ok' }))
  app.get(paths.ready, isProbe, async (request, reply) => {
    await checkDatabase()
    if (isClosing()) {
      request.reason = 'closing'
      throw unavailable(undefined)
    }
    if (reply.sent) return undefined // timed out meanwhile
    // The instance serves without Redis: the state of the counters is reported, and no reason for 503.
    return { status: 'ok', counters: counters.state() }
  })
}

// One check at a time, however many ask. It fails with 503 whatever the reason: a load balancer should send
// requests elsewhere.
function createDatabaseCheck(
  { sql, probe }: HealthParts,
  migrations: Awaited<ReturnType<typeof migrationNames>>,
): () => Promise<void> {
  return singleFlight(async () => {
    const answered = Promise.all([
      unlessAborted(isMigrated(sql, migrations), AbortSignal.timeout(probeTimeoutMs)),
      probe(probeTimeoutMs),
    ])
    const [areMigrated] = await answered.catch((error: unknown) => {
      throw unavailable(isTimeout(error) ? new Error(`no answer in ${probeTimeoutMs} ms`) : error)
    })
    if (!areMigrated) throw unavailable(new Error('migrations are missing'))
  })
}

// The error of AbortSignal.timeout, whose message does not say what timed out.
function isTimeout(error: unknown): boolean {
  return (error as { name?: unknown }).name === 'TimeoutError'
}
