// The application: the parts in the order a request meets them.

import type { Server } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { createAuthenticate, type FindClient } from './auth/authentication.js'
import { toClient } from './auth/client.js'
import type { Config } from './config.js'
import type { Contract } from './contract/types.js'
import { findClientKey } from './database/api-keys.js'
import { statementTimeoutMs } from './database/pools.js'
import type { Pools, Sql } from './database/types.js'
import { addContractFiles } from './docs/contract-files.js'
import { addDocumentation } from './docs/page.js'
import type { Handlers } from './handlers/handler.js'
import { addAdmission, requireClient } from './http/admission.js'
import { deferRequests, closeConnections } from './http/closing.js'
import { addCors } from './http/cors.js'
import { addHealth } from './http/health.js'
import { Lifetimes } from './http/lifetime.js'
import { LoadShedder } from './http/load-shedding.js'
import { RefusedConnections } from './http/refused-connections.js'
import { createServer } from './http/server.js'
import type { Channel } from './lib/channel.js'
import type { MeasuredParts } from './metrics/metrics.js'
import { createIdempotent, purgeRegularly } from './operations/idempotency.js'
import { addRoutes } from './operations/routes.js'
import { createCounters } from './rate-limit/counters.js'
import { createRateLimiter, unlimited } from './rate-limit/rate-limiter.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Answers with what is measured, and of health; whoever has a port for it lets it listen. Undefined where nothing is measured. */
    metricsServer: Server | undefined
  }
}

/** What the application is made of. */
export interface AppParts {
  readonly config: Config
  readonly contract: Contract
  readonly pools: Pools
  readonly log: Logger
  /** To the process that counts for several workers. Absent where this one is alone. */
  readonly primary?: Channel
  readonly handlers: Handlers
}

/**
 * Builds the application, ready to listen or to be injected into.
 * @throws {ContractError} when an operation lacks a handler or a check
 */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, contract, pools, log, primary, handlers } = parts
  const { handlerTimeoutMs } = config
  const lifetimes = new Lifetimes(
    { handlerTimeoutMs, statementTimeoutMs: statementTimeoutMs(handlerTimeoutMs) },
    contract,
  )
  const app = createServer(config, contract, log, lifetimes)
  deferRequests(app)
  lifetimes.add(app)
  if (config.otlpEndpoint !== undefined) {
    const { addTracing } = await import('./tracing/tracing.js') // slow to load
    addTracing(app, { config, contract, lifetimes, log })
  }

  addCors(app, config.corsOrigins, contract)
  const loadShedder = new LoadShedder(config.workMax)
  const { rateLimits, isMetered } = contract
  const counters = await createCounters(app, contract, config, log, primary)
  const refusedConnections = new RefusedConnections(app.server, config, log as FastifyBaseLogger)
  const isShared = primary !== undefined
  const measured = { pools, counters, loadShedder, lifetimes, refusedConnections, isShared }
  app.decorate('metricsServer', config.metricsPort === undefined ? undefined : await measure(app, measured))
  addAdmission(app, {
    contract,
    authenticate: createAuthenticate(clientFinder(pools.keys.sql, contract), contract.title),
    rateLimiter: isMetered ? createRateLimiter(counters, rateLimits.anonymous) : unlimited,
    loadShedder,
  })
  const isClosing = closeConnections(app)

  const { keepHours } = contract.idempotency
  const purge = purgeRegularly(pools.writes.sql, keepHours, (err) => log.warn({ err }, 'purge failed'))
  app.addHook('onClose', async () => purge.stop())

  const probe = (timeoutMs: number) =>
    Promise.all([pools.reads, pools.writes].map((pool) => pool.probe(timeoutMs)))
  await addHealth(app, { sql: pools.keys.sql, probe, counters, isClosing })
  addContractFiles(app, contract)
  addDocumentation(app, contract)
  await app.register(async (scope) => {
    await addRoutes(scope, {
      contract,
      handlers,
      once: createIdempotent(pools.writes, keepHours),
      pools,
      loadShedder,
      securityChecks: { 'http bearer': requireClient },
    })
  })
  return app
}

// Loaded for those who want them, for it takes its time.
async function measure(app: FastifyInstance, parts: MeasuredParts): Promise<Server> {
  const { addMetrics } = await import('./metrics/metrics.js')
  return addMetrics(app, parts)
}

function clientFinder(sql: Sql, contract: Contract): FindClient {
  return async (hash) => {
    const key = await findClientKey(sql, hash)
    return key && toClient(key, contract)
  }
}
