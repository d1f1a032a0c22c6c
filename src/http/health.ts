// Whether the process lives, and whether it can serve: for those who watch it, without a key or a quota.

import type { FastifyInstance } from 'fastify'
import { isMigrated, migrationNames } from '../database/migrate.js'
import type { Sql } from '../database/types.js'
import { unavailable } from '../errors.js'
import { unlessAborted } from '../lib/abort.js'
import { singleFlight } from '../lib/coalesce.js'
import { migrationsFolder } from '../paths.js'
import type { Counters } from '../rate-limit/counters.js'

export interface HealthParts {
  readonly sql: Sql
  /** Rejects where the connections that serve requests are without an answer for so long. */
  readonly probe: (timeoutMs: number) => Promise<unknown>
  readonly counters: Pick<Counters, 'state'>
  readonly isClosing: () => boolean
}

// Of a probe, whatever the database does.
const probeTimeoutMs = 1_000

/** Adds `/healthz` (the process lives) and `/readyz` (it can serve). */
export async function addHealth(app: FastifyInstance, parts: HealthParts): Promise<void> {
  const { sql, counters, isClosing } = parts
  const migrations = await migrationNames(migrationsFolder)
  // Anyone may ask, so it costs the database the same however many do.
  const probe = singleFlight(async () => {
    const [migrated] = await Promise.all([
      unlessAborted(isMigrated(sql, migrations), AbortSignal.timeout(probeTimeoutMs)),
      parts.probe(probeTimeoutMs),
    ])
    return migrated
  })

  const isProbe = { config: { isProbe: true } } as const
  app.get('/healthz', isProbe, async () => ({ status: 'ok' }))

  app.get('/readyz', isProbe, async (request, reply) => {
    // Whatever the reason, the answer is the same: send the requests elsewhere.
    const migrated = await probe().catch((error: unknown) => {
      throw unavailable(isTimeout(error) ? new Error(`no answer in ${probeTimeoutMs} ms`) : error)
    })
    if (isClosing()) {
      request.reason = 'closing'
      throw unavailable(undefined)
    }
    if (!migrated) throw unavailable(new Error('migrations are missing'))
    if (reply.sent) return undefined // its time was up, and the caller has been told
    // Without Redis it serves all the same, so this is told and not refused.
    return { status: 'ok', counters: counters.state() }
  })
}

// Of an AbortSignal, which says no more than that something was aborted.
function isTimeout(error: unknown): boolean {
  return (error as { name?: unknown }).name === 'TimeoutError'
}
