// The routes beside the contract's operations: no key, no quota.

import type { FastifyInstance } from 'fastify'
import type { Counters } from './access/limiters.js'
import type { Contract } from './contract/document.js'
import type { Sql } from './database/connect.js'
import { isMigrated } from './database/migrate.js'
import { unavailable } from './errors.js'
import { migrationsFolder } from './project.js'

/** What these routes tell of. */
export interface ServiceParts {
  readonly contract: Contract
  readonly sql: Sql
  readonly counters: Counters
  readonly isClosing: () => boolean
}

/** Adds `/healthz` (the process lives), `/readyz` (it can serve) and the contract itself. */
export function addServiceRoutes(app: FastifyInstance, parts: ServiceParts): void {
  const { contract, sql, counters, isClosing } = parts

  app.get('/healthz', async () => ({ status: 'ok' }))

  app.get('/readyz', async (_, reply) => {
    // Whatever the reason, the answer is the same: send the requests elsewhere.
    const migrated = await isMigrated(sql, migrationsFolder).catch((error: unknown) => {
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
