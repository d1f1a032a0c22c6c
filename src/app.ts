// Composes the application. Fastify runs hooks in the order in which they are added: buildApp is one long
// list because it reads as the life of a request.

import type { Server } from 'node:http'
import {
  contractFiles,
  createSecurity,
  documentation,
  type ErrorBodyOf,
  isStub,
  mayStream,
  mount,
  type Operation,
} from 'contract-engine'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { type AnyCheckFactory, createChecks } from './auth/checks.js'
import type { ServiceContract } from './auth/plans.js'
import type { Config } from './config.js'
import type { Pools, Sql } from './database/database.js'
import { statementTimeoutMs } from './database/pools.js'
import type { Handlers } from './handlers/handler.js'
import { acceptFirst } from './http/accept-first.js'
import { additionsTo } from './http/additions.js'
import { addAdmission } from './http/admission.js'
import { createBodyMemory } from './http/body-memory.js'
import { addCors } from './http/cors.js'
import { createServer } from './http/create-server.js'
import { deferRequests } from './http/defer-requests.js'
import type { ErrorHandler } from './http/error-handler.js'
import { addGracefulClose } from './http/graceful-close.js'
import { createSecurityHeaders } from './http/headers.js'
import { addHealth } from './http/health.js'
import { Lifetimes, type Timeouts } from './http/lifetime.js'
import { stopTrials, tryNewConnections } from './http/new-connections.js'
import { RefusedConnections } from './http/refused-connections.js'
import { RequestContext } from './http/request-context.js'
import { addSecurityTxt } from './http/security-txt.js'
import { Streams } from './http/streams.js'
import { trustedProxies } from './http/trusted-proxies.js'
import { purgeRegularly } from './middleware/idempotency.js'
import { LoadShedder, shed, shedStreams } from './middleware/load-shedding.js'
import { requireIfMatch } from './middleware/preconditions.js'
import { transactional } from './middleware/writes.js'
import { createCounters } from './rate-limit/counters.js'
import { planSections } from './rate-limit/page-section.js'
import { createRateLimiter, unlimited } from './rate-limit/rate-limiter.js'
import type { Services } from './services.js'
import type { MeasuredParts } from './telemetry/metrics.js'
import type { TracedParts } from './telemetry/tracing.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Serves metrics and health. The caller of buildApp makes it listen; undefined without METRICS_PORT. */
    metricsServer: Server | undefined
  }
}

/** The dependencies of the application. */
export interface AppParts {
  readonly config: Config
  readonly contract: ServiceContract
  readonly pools: Pools
  readonly log: Logger
  readonly handlers: Handlers
  /** What checks each security scheme, by its name. */
  readonly schemes: Readonly<Record<string, AnyCheckFactory>>
  /** Closed with the application. */
  readonly services: Services
  /** Makes the bodies of errors, if the contract has another form for them than the engine. */
  readonly errorBody?: ErrorBodyOf | undefined
}

/**
 * Builds the application, ready for `listen` or `inject`.
 * @throws {ContractError} when an operation lacks a handler or a security check
 */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, contract, pools, log, handlers, schemes, services, errorBody } = parts
  const streams = new Streams(config.shutdownTimeoutMs)
  const lifetimes = new Lifetimes(createTimeoutsOf(config, contract), streams)
  const loadShedder = new LoadShedder(config.workMax, config.streamsMax)
  const bodies = createBodyMemory(config, contract)
  const address = { publicUrl: config.publicUrl, isProxy: trustedProxies(config.trustProxy) }
  const app = createServer(config, contract, log, lifetimes, createSecurityHeaders(address), errorBody)

  // Every request: wait for its bytes, start its timeout, let callers in, start its span, respond to a
  // preflight, then admit it.
  deferRequests(app)
  lifetimes.add(app)
  const arrivals = acceptFirst(app)
  if (config.otlpEndpoint !== undefined) await trace(app, { config, contract, lifetimes, log })
  addCors(app, config.corsOrigins, contract)
  const counters = await createCounters(app, contract, config, log)
  const refusedConnections = new RefusedConnections(app.server, config, log as FastifyBaseLogger)
  const isNeeded = (scheme: string) => schemesInUse(contract, handlers).has(scheme)
  const checks = createChecks(schemes, { contract, config, pools, loadShedder, log }, isNeeded)
  const cookieOrigins = config.takesForeignCookies ? 'any' : config.corsOrigins
  const security = createSecurity(contract, checks, { cookieOrigins, address })
  addAdmission(app, {
    contract,
    security,
    rateLimiter: contract.hasRateLimits ? createRateLimiter(counters, contract) : unlimited,
    loadShedder,
  })
  streams.add(app)
  const isClosing = addGracefulClose(app)

  // The service's own routes, then the contract's, which validate request and response of the handler.
  const trials = tryNewConnections(pools, counters.redis, app.log)
  app.addHook('onClose', () => stopTrials(trials))
  const findFault = await addHealth(app, contract, {
    ...{ pools, counters, isClosing },
    connectError: () => trials.get('database')?.error,
    timeoutMs: pools.keys.options.readTimeoutMs,
  })
  addSecurityTxt(app, contract, config)
  const load = { loadShedder, bodies, lifetimes, arrivals, refusedConnections }
  const measured = { config, contract, pools, counters, trials, ...load }
  const isMeasured = config.metricsPort !== undefined
  app.decorate('metricsServer', isMeasured ? await measure(app, { ...measured, findFault }) : undefined)
  contractFiles(app, contract, address)
  const additions = additionsTo(contract, security)
  documentation(app, contract, { address, additions, sections: () => planSections(contract) })
  const { keepHours } = contract.idempotency
  const reading = createReading(contract, pools)
  const byName: Readonly<Record<string, { readonly sharesTransaction?: boolean } | undefined>> = handlers
  const sharesTransactions = ({ name }: Operation) => byName[name]?.sharesTransaction === true
  await mount<Sql>(app, {
    contract,
    handlers,
    address,
    security,
    bodies,
    // What wraps each handler, outermost first.
    around: [
      shed(loadShedder),
      requireIfMatch(),
      transactional(pools.writes, { keepHours, sharesTransactions }),
      shedStreams(loadShedder),
    ],
    // An operation that writes has the statements of the transaction that wraps it; a safe one has no
    // transaction, and reads.
    context: (request, operation, transaction) =>
      new RequestContext(request, transaction ?? reading(request, operation), services),
    additions,
    errorBody,
    errorHandler: app.errorHandler as ErrorHandler, // that of all requests; its type allows only some errors
  })

  const purge = purgeRegularly(pools.writes.sql, keepHours, (err) =>
    log.warn({ err }, 'purging stored responses failed'),
  )
  app.addHook('onClose', async () => purge.stop())
  app.addHook('onClose', () => services.close())
  return app
}

// The statements of a request that only reads, on standbys if there are any, until it ends.
function createReading({ operations }: ServiceContract, { reads }: Pools) {
  const streaming = new Set([...operations.values()].filter(mayStream))
  return ({ lifetime }: FastifyRequest, operation: Operation): Sql =>
    reads.sqlUntil(streaming.has(operation) ? lifetime?.ofStream : lifetime)
}

// The security schemes that operations with a handler name.
function schemesInUse({ operations }: ServiceContract, handlers: Handlers): ReadonlySet<string> {
  const byName: Readonly<Record<string, object>> = handlers
  const implemented = [...operations.values()].filter(({ name }) => !isStub(byName[name] ?? {}))
  return new Set(implemented.flatMap(({ security }) => security.flat()).map(({ name }) => name))
}

// `routeOptions` are built on each access: a contract without times of its own never needs them.
function createTimeoutsOf(
  config: Config,
  { operations }: ServiceContract,
): (request: FastifyRequest) => Timeouts {
  const { requestTimeoutMs, handlerTimeoutMs, uploadRateMin } = config
  const ofBody = { requestTimeoutMs, uploadRateMin }
  const ofSessions = statementTimeoutMs(handlerTimeoutMs)
  const timeouts = { ...ofBody, handlerTimeoutMs, statementTimeoutMs: ofSessions }
  const own = new Map<Operation | undefined, Timeouts>()
  for (const operation of operations.values()) {
    const { timeoutMs } = operation.limits
    if (timeoutMs === undefined) continue
    const ofStatement = Math.min(statementTimeoutMs(timeoutMs), ofSessions)
    const isShort = ofStatement < ofSessions
    const times = { handlerTimeoutMs: timeoutMs, statementTimeoutMs: ofStatement, isShort }
    own.set(operation, { ...ofBody, ...times })
  }
  if (own.size === 0) return () => timeouts
  return ({ routeOptions }) => own.get(routeOptions.config.operation) ?? timeouts
}

// OpenTelemetry is slow to load.
async function trace(app: FastifyInstance, parts: TracedParts): Promise<void> {
  const { addTracing } = await import('./telemetry/tracing.js')
  addTracing(app, parts)
}

// So is prom-client.
async function measure(app: FastifyInstance, parts: MeasuredParts): Promise<Server> {
  const { addMetrics } = await import('./telemetry/metrics.js')
  return addMetrics(app, parts)
}
