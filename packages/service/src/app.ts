// Composes the application. Fastify runs hooks in the order in which they are added: buildApp is one long
// list because it reads as the life of a request.

import type { Server } from 'node:http'
import {
  type BodyMemory,
  contractFiles,
  documentation,
  type ErrorBodyOf,
  isStub,
  mount,
  type Operation,
  Security,
} from 'contract-engine'
import { withoutPrefix } from 'contract-engine/lib/base-url'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { type AnyCheckFactory, createChecks } from './auth/checks.js'
import type { Client } from './auth/client.js'
import { countedBy, type ServiceContract } from './auth/plans.js'
import type { Config } from './config.js'
import type { Pools, Sql } from './database/database.js'
import { statementTimeoutMs } from './database/pools.js'
import { acceptFirst } from './http/accept-first.js'
import { additionsTo } from './http/additions.js'
import { addAdmission } from './http/admission.js'
import { createBodyMemory } from './http/body-memory.js'
import { addCors } from './http/cors.js'
import { createServer } from './http/create-server.js'
import type { ErrorHandler } from './http/error-handler.js'
import { addGracefulClose } from './http/graceful-close.js'
import { createSecurityHeaders } from './http/headers.js'
import { addHealth } from './http/health.js'
import { Lifetimes, type Timeouts, type TimeoutsByOperation } from './http/lifetime.js'
import { stopTrials, tryNewConnections } from './http/new-connections.js'
import { RefusedConnections } from './http/refused-connections.js'
import { createContexts } from './http/request-context.js'
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
import type { MeasuredParts } from './telemetry/metrics.js'
import type { TracedParts } from './telemetry/tracing.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Serves metrics and health. The caller of buildApp makes it listen; undefined without METRICS_PORT. */
    metricsServer: Server | undefined
  }
}

/** A contract, and the parts that serve it. */
export interface Served {
  readonly contract: ServiceContract
  /** The handlers by name of the operation. */
  readonly handlers: object
  /** The factories of checks by name of the security scheme. */
  readonly schemes: Readonly<Record<string, AnyCheckFactory>>
  /** Makes the bodies of errors, if the contract's form differs from the engine's. */
  readonly errorBody?: ErrorBodyOf | undefined
}

/** The team's own services, which handlers get in their context. */
export interface Services {
  /** Runs when the service stops: after the last response, and before the database is closed. */
  close(): Promise<void>
}

/** The dependencies of the application. */
export interface AppParts extends Served {
  readonly config: Config
  readonly pools: Pools
  readonly log: Logger
  /** The services that handlers use besides the database. The application closes them. */
  readonly services: Services
  /** Further contracts, each under a prefix of its own: see docs/adopting.md. */
  readonly beside?: readonly Served[] | undefined
}

/**
 * Builds the application, ready for `listen` or `inject`.
 * @throws {ContractError} when an operation lacks a handler or a security check
 */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, contract, pools, log, services, errorBody, beside = [] } = parts
  const served: readonly Served[] = [parts, ...beside]
  const operations = served.flatMap((each) => [...each.contract.operations.values()])
  const streams = new Streams(config.shutdownTimeoutMs)
  const lifetimes = new Lifetimes(timeoutsOf(config, operations), streams)
  const loadShedder = new LoadShedder(config.workMax, config.streamsMax)
  const bodies = createBodyMemory(config, operations)
  const isProxy = trustedProxies(config.trustProxy)
  const headers = createSecurityHeaders({ publicUrl: config.publicUrl, isProxy })
  const app = createServer(config, { contract, operations, errorBody }, log, lifetimes, headers)

  // Each request waits for its bytes, starts its timeout, lets waiting callers in, and starts its span. Then
  // a preflight gets its response, and other requests are admitted.
  lifetimes.add(app)
  const arrivals = acceptFirst(app)
  if (config.otlpEndpoint !== undefined) await trace(app, { config, contract, lifetimes, log })
  addCors(app, config.corsOrigins, operations)
  const { rateLimits } = countedBy(served.map((each) => each.contract))
  const counters = await createCounters(app, { title: contract.title, rateLimits }, config, log)
  const refusedConnections = new RefusedConnections(app.server, config, log as FastifyBaseLogger)
  const securing = { ...parts, isProxy, loadShedder }
  const secured = await Promise.all(served.map((each) => secure(each, securing)))
  addAdmission(app, {
    loadShedder,
    admitted: secured.map(({ contract: each, security }) => {
      const rateLimiter = each.hasRateLimits ? createRateLimiter(counters, each) : unlimited
      return { contract: each, security, rateLimiter }
    }),
  })
  streams.add(app)
  addGracefulClose(app, lifetimes)

  // The service's own routes, then those of the contracts, which validate requests and responses.
  const trials = tryNewConnections(pools, counters.redis, app.log)
  app.addHook('onClose', () => stopTrials(trials))
  const findFault = await addHealth(app, contract, {
    ...{ pools, counters, isClosing: () => lifetimes.isClosing },
    connectError: () => trials.get('database')?.error,
    timeoutMs: pools.keys.options.readTimeoutMs,
  })
  addSecurityTxt(app, contract, config)
  const load = { loadShedder, bodies, lifetimes, arrivals, refusedConnections }
  const measured = { config, contract, pools, services, counters, trials, ...load }
  const isMeasured = config.metricsPort !== undefined
  app.decorate('metricsServer', isMeasured ? await measure(app, { ...measured, findFault }) : undefined)
  const shared = { loadShedder, bodies, pools, context: createContexts(operations, pools, services) }
  for (const each of secured) await serveContract(app, each, shared)

  const keepHours = Math.max(...served.map((each) => each.contract.idempotency.keepHours))
  const purge = purgeRegularly(pools.writes.sql, keepHours, (err) =>
    log.warn({ err }, 'purging stored responses failed'),
  )
  app.addHook('onClose', async () => purge.stop())
  app.addHook('onClose', () => services.close())
  return app
}

/** The options that say where callers reach the operations. */
type AddressOptions = NonNullable<Parameters<typeof contractFiles>[2]>

/** A contract with the checks of its callers. */
interface Secured extends Served {
  readonly security: Security<Client>
  readonly address: AddressOptions
}

interface SecuringParts extends AppParts {
  readonly isProxy: NonNullable<AddressOptions['isProxy']>
  readonly loadShedder: LoadShedder
}

async function secure(served: Served, parts: SecuringParts): Promise<Secured> {
  const { contract, handlers, schemes } = served
  const { config, isProxy } = parts
  const inUse = schemesInUse(contract, handlers)
  const checks = await createChecks(schemes, { ...parts, contract }, (scheme) => inUse.has(scheme))
  const cookieOrigins = config.takesForeignCookies ? 'any' : config.corsOrigins
  const address = { publicUrl: publicUrlOf(contract, parts), isProxy }
  return { ...served, address, security: new Security(contract, checks, { cookieOrigins, address }) }
}

// Derives the public URL of a further contract from the first one's. Undefined if a gateway replaces the
// first prefix.
function publicUrlOf(contract: ServiceContract, { config, contract: own }: AppParts): string | undefined {
  const { publicUrl } = config
  if (publicUrl === undefined || contract === own) return publicUrl
  const root = withoutPrefix(publicUrl, own.prefix)
  return root === undefined ? undefined : root + contract.prefix
}

interface ServingParts extends Pick<AppParts, 'pools'> {
  readonly loadShedder: LoadShedder
  readonly bodies: BodyMemory
  readonly context: ReturnType<typeof createContexts>
}

async function serveContract(
  app: FastifyInstance,
  { contract, handlers, address, security, errorBody }: Secured,
  { loadShedder, bodies, pools, context }: ServingParts,
): Promise<void> {
  contractFiles(app, contract, address)
  const additions = additionsTo(contract, security)
  documentation(app, contract, { address, additions, sections: () => planSections(contract) })
  const { keepHours } = contract.idempotency
  const byName = handlers as Readonly<Record<string, { readonly sharesTransaction?: boolean } | undefined>>
  const sharesTransactions = ({ name }: Operation) => byName[name]?.sharesTransaction === true
  await mount<Sql>(app, {
    contract,
    handlers,
    address,
    security,
    bodies,
    // The wrappers of each handler, outermost first.
    around: [
      shed(loadShedder),
      requireIfMatch(),
      transactional(pools.writes, { keepHours, sharesTransactions }),
      shedStreams(loadShedder),
    ],
    context,
    additions,
    errorBody,
    errorHandler: app.errorHandler as ErrorHandler, // cast: the type allows only some errors
  })
}

// Returns the security schemes that operations with a handler use.
function schemesInUse({ operations }: ServiceContract, handlers: object): ReadonlySet<string> {
  const byName = handlers as Readonly<Record<string, object | undefined>>
  const implemented = [...operations.values()].filter(({ name }) => !isStub(byName[name] ?? {}))
  return new Set(implemented.flatMap(({ security }) => security.flat()).map(({ name }) => name))
}

function timeoutsOf(config: Config, operations: readonly Operation[]): TimeoutsByOperation {
  const { requestTimeoutMs, handlerTimeoutMs, uploadRateMin } = config
  const ofBody = { requestTimeoutMs, uploadRateMin }
  const ofSessions = statementTimeoutMs(handlerTimeoutMs)
  const usual = { ...ofBody, handlerTimeoutMs, statementTimeoutMs: ofSessions }
  const own = new Map<Operation | undefined, Timeouts>()
  for (const operation of operations) {
    const { timeoutMs } = operation.limits
    if (timeoutMs === undefined) continue
    const ofStatement = Math.min(statementTimeoutMs(timeoutMs), ofSessions)
    const isShort = ofStatement < ofSessions
    const times = { handlerTimeoutMs: timeoutMs, statementTimeoutMs: ofStatement, isShort }
    own.set(operation, { ...ofBody, ...times })
  }
  return own.size === 0 ? { usual } : { usual, own }
}

// Loads OpenTelemetry on demand, because it is slow to load.
async function trace(app: FastifyInstance, parts: TracedParts): Promise<void> {
  const { addTracing } = await import('./telemetry/tracing.js')
  addTracing(app, parts)
}

// Loads prom-client on demand, because it is slow to load.
async function measure(app: FastifyInstance, parts: MeasuredParts): Promise<Server> {
  const { addMetrics } = await import('./telemetry/metrics.js')
  return addMetrics(app, parts)
}
