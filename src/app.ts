// The server: every Fastify option, and the parts in the order a request meets them.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Logger } from 'pino'
import { handlers as contractHandlers } from '../generated/handlers.js'
import { holdsApiKey } from './access/api-key.js'
import { createAuthenticate, type FindClient } from './access/authentication.js'
import { toClient } from './access/client.js'
import { createGate, type Gate, requireClient } from './access/gate.js'
import { type Counters, createCounters } from './access/limiters.js'
import { createMeter, unmetered } from './access/rate-limit.js'
import { answerUsage } from './access/usage.js'
import { isAmbiguous } from './ambiguity.js'
import { createClientErrorHandler, createConnectHandler } from './client-errors.js'
import type { Config } from './config.js'
import {
  closeAfter,
  closeSilentConnections,
  comesAfterTheLast,
  isLast,
  watchConnections,
} from './connections.js'
import { defaultErrorStatuses } from './contract/defaults.js'
import type { Contract } from './contract/document.js'
import { ResponseError } from './contract/responses.js'
import { addRoutes } from './contract/routes.js'
import { findClientKey } from './database/api-keys.js'
import { type Database, isUnavailable } from './database/connect.js'
import type { Transact } from './database/renewable.js'
import { addDeadline } from './deadline.js'
import { addDocumentation } from './documentation.js'
import { ApiError, errorBody, requestFault, toApiError, unavailable } from './errors.js'
import type { Handlers } from './handlers/handler.js'
import { createOnce, purgeRegularly } from './idempotency.js'
import type { Metrics } from './metrics/metrics.js'
import { countWork, createSheddingServer, type Work } from './overload.js'
import { callBack, proceed, type Soon } from './proceed.js'
import { RequestLog } from './request-log.js'
import { requestPath } from './request-path.js'
import { securityHeaders } from './security-headers.js'
import { addServiceRoutes } from './service-routes.js'

declare module 'fastify' {
  interface FastifyInstance {
    gate: Gate
    /** From now on `/readyz` says no, and every answer ends its connection: the server will close. */
    announceClose(): void
    /** Answers with what is measured; whoever has a port for it lets it listen. Undefined where nothing is measured. */
    metricsServer: Server | undefined
  }
  interface FastifyRequest {
    /** `routeOptions`, which Fastify makes anew each time they are asked for. Undefined where no hook has run. */
    matched: FastifyRequest['routeOptions'] | undefined
  }
}

type Route = FastifyRequest['routeOptions']

/** What the server is made of. */
export interface AppParts {
  readonly config: Config
  readonly contract: Contract
  /** Without lanes, the pool serves handlers too; and transactions, where nothing else does. */
  readonly database: Pick<Database, 'sql'> & Partial<Pick<Database, 'lanes' | 'transact'>>
  readonly log: Logger
  /** The handlers of the contract's operations, unless others are given. */
  readonly handlers?: Handlers
}

// A client that sends its headers slower than this keeps a connection for nothing.
const headersTimeoutMs = 10_000
// How often Node looks for requests past their time.
const timeoutCheckMs = 1_000

/**
 * Builds the server, ready to listen or to be injected into.
 * @throws {ContractError} when an operation lacks a handler or a check
 */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, contract, database, log, handlers = contractHandlers } = parts
  const work: Work = { count: 0, refused: 0, max: config.workMax }
  const app = createServer(config, contract, log, work)
  const allowedMethods = collectMethods(app)
  addDeadline(app, config.handlerTimeoutMs, contract)

  const counters = await createCounters(app, contract.rateLimits, config.redisUrl, log)
  await answerUsage(database.sql, counters)
  const metrics =
    config.metricsPort === undefined ? undefined : await startMetrics(app, parts, counters, work)
  app.decorate('metricsServer', metrics?.server)
  const { sql, lanes } = measured(database, metrics)
  const authenticate = createAuthenticate(clientFinder(sql, contract), contract.title)
  app.decorate('gate', createGate(authenticate, contract.isMetered ? createMeter(counters) : unmetered))
  app.decorateRequest('matched', undefined)
  app.decorateRequest('client', undefined)
  app.decorateRequest('refusal', undefined)
  app.decorateRequest('refused', undefined)
  // Bodies are read as bytes, whatever their type; the operation they are for says which types it takes.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...mediaTypes(contract), '*'], { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  const admit = (request: FastifyRequest, reply: FastifyReply): Soon<void> => {
    const route = request.routeOptions
    request.matched = route
    const isInDoubt = receive(request, reply, route)
    const passed = isMetered(request, route, contract) ? app.gate(request, reply) : undefined
    return proceed(passed, () => {
      if (request.url.length > contract.limits.url) throw requestFault('uri_too_long', contract)
      if (isInDoubt) throw requestFault('malformed_request', contract)
      // Before the body is read: what it holds does not matter where nothing takes it.
      if (request.is404) throw notFound(request, allowedMethods(request))
    })
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (comesAfterTheLast(request.raw)) reply.hijack()
    else callBack(() => admit(request, reply), done)
  })
  const isClosing = closeConnections(app)
  const purge = purgeRegularly(database.sql, contract.idempotency.keepHours, (err) =>
    log.warn({ err }, 'purge failed'),
  )
  app.addHook('onClose', async () => purge.stop())
  const onError = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    answerError(error, request, reply, contract)
  app.setErrorHandler(onError)

  addServiceRoutes(app, { contract, sql: database.sql, counters, isClosing })
  addDocumentation(app, contract)
  await app.register(async (scope) => {
    // Of errors in answering one, Fastify asks the next handler up.
    scope.setErrorHandler(onError)
    countWork(scope, work)
    await addRoutes(scope, {
      contract,
      handlers,
      once: createOnce(database.transact ?? poolTransact(database.sql), contract.idempotency.keepHours),
      lanes,
      securityChecks: { 'http bearer': requireClient },
    })
  })
  return app
}

// Loaded for those who want them, for it takes its time.
async function startMetrics(app: FastifyInstance, { database }: AppParts, counters: Counters, work: Work) {
  const { addMetrics } = await import('./metrics/metrics.js')
  return addMetrics(app, database.sql, counters, work)
}

function poolTransact(sql: Database['sql']): Transact {
  return (work) => sql.begin(work as never) as ReturnType<typeof work>
}

function measured({ sql, lanes = { reads: sql, writes: sql } }: AppParts['database'], metrics?: Metrics) {
  if (metrics === undefined) return { sql, lanes }
  const { watch } = metrics
  return {
    sql: watch(sql, 'pool'),
    lanes: { reads: watch(lanes.reads, 'reads'), writes: watch(lanes.writes, 'writes') },
  }
}

function clientFinder(sql: Database['sql'], { rateLimits }: Contract): FindClient {
  return async (hash) => {
    const key = await findClientKey(sql, hash)
    return key && toClient(key, rateLimits.plans)
  }
}

// What every answer carries, whatever becomes of the request; tells whether it is in doubt, and then its connection's last.
function receive(request: FastifyRequest, reply: FastifyReply, route: Route | undefined): boolean {
  reply.headers(securityHeaders).header('x-request-id', request.id)
  const { headers } = route?.config ?? {}
  if (headers) reply.headers(headers)
  const isInDoubt = isAmbiguous(request.raw)
  if (isInDoubt) closeAfter(request.raw)
  return isInDoubt
}

// By route, for a path may be written in several ways; by path where there is no route.
function isMetered({ url, is404 }: FastifyRequest, route: Route | undefined, { prefix }: Contract): boolean {
  if (!is404 && route?.url !== undefined) return route.config.operation !== undefined
  const path = requestPath(url)
  return path === prefix || path.startsWith(`${prefix}/`)
}

function createServer(config: Config, contract: Contract, log: Logger, work: Work): FastifyInstance {
  const app: FastifyInstance = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new RequestLog(),
    genReqId: requestId,
    trustProxy: config.trustProxy,
    bodyLimit: contract.limits.body,
    routerOptions: { maxParamLength: contract.limits.url },
    serverFactory: createSheddingServer(work, contract, log),
    http: {
      requestTimeout: config.requestTimeoutMs,
      keepAliveTimeout: config.keepAliveTimeoutMs,
      maxHeaderSize: contract.limits.header,
      headersTimeout: Math.min(headersTimeoutMs, config.requestTimeoutMs),
      connectionsCheckingInterval: timeoutCheckMs,
      requireHostHeader: false, // checked by a hook, which can answer in the error body
    },
    // While it closes, the server finishes what it has accepted and asks for no more on its connections.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: createClientErrorHandler(contract, log),
    // Of a request with a URL that cannot be routed: no hook sees it.
    frameworkErrors: async (error, request, reply) => {
      if (comesAfterTheLast(request.raw)) return reply.hijack()
      receive(request, reply, undefined)
      let refusal: unknown = error
      try {
        if (isMetered(request, undefined, contract)) await app.gate(request, reply)
      } catch (gateRefusal) {
        refusal = gateRefusal
      }
      if (isLast(request.raw)) reply.header('Connection', 'close')
      answerError(refusal, request, reply, contract)
    },
  })
  app.server.maxConnections = config.connectionsMax
  // Without a byte in either direction: a client that reads no answer would keep its connection for ever.
  app.server.timeout = config.requestTimeoutMs + config.handlerTimeoutMs
  app.server.maxHeadersCount = 0 // bytes bound them: Node would drop those beyond a count, a key perhaps among them
  app.server.on('connect', createConnectHandler(contract, log))
  return app
}

// The caller's own id where it is harmless in a log, else a new one.
function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  const isHarmless = typeof given === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(given) && !holdsApiKey(given)
  return isHarmless ? given : randomUUID()
}

// The one way out for every error.
function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, contract: Contract): void {
  if (reply.sent) return // its time was up, and the caller has been told
  // A body that breaks off has the same code as a connection to the database that does.
  const outage = isUnavailable(error) && error !== request.raw.errored
  const apiError = outage ? unavailable(error) : toApiError(error, contract)
  const body = errorBody(apiError, contract)
  if (apiError.code === 'not_implemented') request.log.warn({ reason: apiError.message }, 'not written yet')
  else if (body.status >= 500)
    request.log.error({ err: apiError.options.cause ?? apiError }, 'request failed')
  // The answer to it tells of an answer that broke the contract.
  if (error instanceof ResponseError) request.isUnchecked = true
  if (!isDescribed(apiError, body.status, request, contract)) {
    request.isUnchecked = true
    reply.type('application/json; charset=utf-8').serializer(JSON.stringify)
  }
  void reply.code(body.status).headers(apiError.headers).send(body)
}

// The server's own errors may befall any operation, also one that does not speak of them.
function isDescribed(
  { code }: ApiError,
  status: number,
  request: FastifyRequest,
  contract: Contract,
): boolean {
  if (!contract.describesErrors) return false
  const { responseCheck } = request.matched?.config ?? {}
  return responseCheck === undefined || responseCheck.declares(status) || !(code in defaultErrorStatuses)
}

// Fastify closes idle connections as it closes, but not those that turn idle afterwards: their last answer has
// to end them, or a client's keep-alive would hold the stop up. So has one that comes before the whole request.
function closeConnections(app: FastifyInstance): () => boolean {
  const open = watchConnections(app.server)
  let closing = false
  app.decorate('announceClose', () => {
    closing = true
  })
  let silent: ReturnType<typeof closeSilentConnections> | undefined
  app.addHook('preClose', async () => {
    closing = true
    silent = closeSilentConnections(open)
  })
  app.addHook('onClose', async () => silent?.stop())
  app.addHook('onSend', (request, reply, payload, done) => {
    const send = () => {
      if (isLast(request.raw) || closing) reply.header('Connection', 'close')
      done(null, payload)
    }
    // Its end may have come with its beginning: Node calls with the one before it reads the other.
    if (request.raw.complete) send()
    else setImmediate(send)
  })
  return () => closing
}

// glue warns of a declared type that has no parser by its name.
function mediaTypes({ operations }: Contract): Set<string> {
  return new Set([...operations.values()].flatMap(({ body }) => body?.mediaTypes ?? []))
}

// RFC 9110, sections 15.5.5 and 15.5.6.
function notFound(request: FastifyRequest, allowed: readonly string[]): ApiError {
  if (allowed.length === 0) return new ApiError('route_not_found', 'There is nothing at this path.')
  return new ApiError('method_not_allowed', `${request.method} is not allowed here.`, {
    headers: { Allow: allowed.join(', ') },
  })
}

// Fastify tells unknown paths and methods apart for no one, so the routes are noted as they are added.
function collectMethods(app: FastifyInstance): (request: FastifyRequest) => string[] {
  const methods = new Map<string, { pattern: RegExp; names: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`)
    const entry = methods.get(url) ?? { pattern, names: new Set<string>() }
    for (const name of [method].flat()) entry.names.add(name)
    methods.set(url, entry)
  })
  return ({ url }) => {
    const path = requestPath(url)
    return [...methods.values()].flatMap(({ pattern, names }) =>
      pattern.test(path) ? [...names].sort() : [],
    )
  }
}
