// The routes beside the contract's operations: no key, no quota.

import type { FastifyInstance } from 'fastify'
import type { Contract } from '../contract/types.js'
import { isMigrated, migrationNames } from '../database/migrate.js'
import type { Sql } from '../database/types.js'
import { unavailable } from '../errors.js'
import { unlessAborted } from '../lib/abort.js'
import { migrationsFolder } from '../paths.js'
import type { Counters } from '../rate-limit/counters.js'

/** What these routes tell of. */
export interface ServiceParts {
  readonly contract: Contract
  readonly sql: Sql
  readonly counters: Counters
  readonly isClosing: () => boolean
}

// Of a probe, whatever the database does.
const probeTimeoutMs = 1_000

/** Adds `/healthz` (the process lives), `/readyz` (it can serve) and the contract itself. */
export async function addServiceRoutes(app: FastifyInstance, parts: ServiceParts): Promise<void> {
  const { contract, sql, counters, isClosing } = parts
  const migrations = await migrationNames(migrationsFolder)
  const probe = coalesce(() =>
    unlessAborted(isMigrated(sql, migrations), AbortSignal.timeout(probeTimeoutMs)),
  )

  app.get('/healthz', async () => ({ status: 'ok' }))

  app.get('/readyz', async (_, reply) => {
    // Whatever the reason, the answer is the same: send the requests elsewhere.
    const migrated = await probe().catch((error: unknown) => {
      throw unavailable(error)
    })
    if (isClosing()) throw unavailable(new Error('the server is about to close'))
    if (!migrated) throw unavailable(new Error('migrations are missing'))
    if (reply.sent) return undefined // its time was up, and the caller has been told
    // Without Redis it serves all the same, so this is told and not refused.
    return { status: 'ok', counters: counters.state() }
  })

  app.get('/openapi.yaml', async (_, reply) => {
    reply.type('application/yaml; charset=utf-8') // RFC 9512
    return contract.text
  })

  app.get('/openapi.json', async () => contract.document)
}

// Anyone may ask, so it costs the database the same however many do: those who ask while an answer is on its way share it.
function coalesce<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined
  return () => {
    underWay ??= run().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}
