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
import { holdsApiKey } from './auth/api-key.js'
import { createAuthenticate, type FindClient } from './auth/authentication.js'
import { toClient } from './auth/client.js'
import type { Config } from './config.js'
import { defaultErrorStatuses } from './contract/defaults.js'
import type { Contract } from './contract/types.js'
import { findClientKey } from './database/api-keys.js'
import { statementTimeoutMs } from './database/pools.js'
import type { Database, Sql } from './database/types.js'
import { isUnavailable } from './database/unavailable.js'
import { addDocumentation } from './docs/page.js'
import { ApiError, errorBody, requestFault, toApiError, unavailable } from './errors.js'
import type { Handlers } from './handlers/handler.js'
import { createGate, type Gate, requireClient } from './http/admission.js'
import { isAmbiguous } from './http/ambiguous-requests.js'
import { createClientErrorHandler, createConnectHandler } from './http/client-errors.js'
import {
  afterPacket,
  closeAfter,
  closeSilentConnections,
  comesAfterTheLast,
  isLast,
  watchConnections,
} from './http/connections.js'
import { securityHeaders } from './http/headers.js'
import { addServiceRoutes } from './http/health.js'
import { Lifetimes } from './http/lifetime.js'
import { Admission, Overload } from './http/load-shedding.js'
import { logAborted, RequestLog } from './http/request-log.js'
import { requestPath } from './http/request-path.js'
import { callBack, proceed, type Soon } from './lib/maybe-promise.js'
import type { MeasuredParts } from './metrics/metrics.js'
import { createOnce, purgeRegularly } from './operations/idempotency.js'
import { ResponseError } from './operations/response-validation.js'
import { addRoutes } from './operations/routes.js'
import { createCounters } from './rate-limit/counters.js'
import { createMeter, unmetered } from './rate-limit/rate-limiter.js'
import { answerUsage } from './rate-limit/usage.js'

declare module 'fastify' {
  interface FastifyInstance {
    gate: Gate
    /** From now on `/readyz` says no, and every answer ends its connection: the server will close. */
    announceClose(): void
    /** Answers with what is measured; whoever has a port for it lets it listen. Undefined where nothing is measured. */
    metricsServer: Server | undefined
  }
  interface FastifyRequest {
    /** Why it was refused before any work, for its line in the log. */
    reason: string | undefined
    /** `routeOptions`, which Fastify makes anew each time they are asked for. Undefined where no hook has run. */
    matched: FastifyRequest['routeOptions'] | undefined
  }
}

type Route = FastifyRequest['routeOptions']

/** What the server is made of. */
export interface AppParts {
  readonly config: Config
  readonly contract: Contract
  readonly database: Pick<Database, 'sql' | 'pools'>
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
  const { pools } = database
  const admission = new Admission(config.workMax)
  const { handlerTimeoutMs } = config
  const timeouts = { handlerTimeoutMs, statementTimeoutMs: statementTimeoutMs(handlerTimeoutMs) }
  const lifetimes = new Lifetimes(timeouts, contract)
  const app = createServer(config, contract, log, lifetimes)
  const allowedMethods = collectMethods(app)
  app.addHook('onRequest', (request, reply, done) => {
    if (comesAfterTheLast(request.raw)) reply.hijack()
    else done()
  })
  lifetimes.add(app)
  lifetimes.onAborted(logAborted)

  const { redisUrl, redisTimeoutMs } = config
  const counters = await createCounters(app, contract.rateLimits, redisUrl, redisTimeoutMs, log)
  await answerUsage(database.sql, counters)
  const measured = { pools, counters, admission, lifetimes }
  app.decorate('metricsServer', config.metricsPort === undefined ? undefined : await measure(app, measured))
  const authenticate = createAuthenticate(clientFinder(pools.keys.sql, contract), contract.title)
  app.decorate(
    'gate',
    createGate(
      authenticate,
      contract.isMetered ? createMeter(counters, contract.rateLimits.anonymous) : unmetered,
    ),
  )
  app.decorateRequest('matched', undefined)
  app.decorateRequest('reason', undefined)
  app.decorateRequest('client', undefined)
  app.decorateRequest('refusal', undefined)
  app.decorateRequest('refused', undefined)
  // Bodies are read as bytes, whatever their type; the operation they are for says which types it takes.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...mediaTypes(contract), '*'], { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  const admit = (request: FastifyRequest, reply: FastifyReply): Soon<void> => {
    const isRoute = !request.is404 && !hasEmptyParameter(request)
    const route = isRoute ? request.routeOptions : undefined
    request.matched = route
    const isInDoubt = receive(request, reply, route)
    if (route?.config.operation !== undefined) admission.check()
    const passed = isMetered(request, route, contract) ? app.gate(request, reply) : undefined
    return proceed(passed, () => {
      if (request.url.length > contract.limits.url) throw requestFault('uri_too_long', contract)
      if (isInDoubt) throw requestFault('malformed_request', contract)
      // Before the body is read: what it holds does not matter where nothing takes it.
      if (!isRoute) throw notFound(request, allowedMethods(request))
    })
  }
  app.addHook('onRequest', (request, reply, done) =>
    callBack(
      () => admit(request, reply),
      (error) => afterPacket(request.raw, () => done(error)),
    ),
  )
  const isClosing = closeConnections(app)
  const purge = purgeRegularly(pools.writes.sql, contract.idempotency.keepHours, (err) =>
    log.warn({ err }, 'purge failed'),
  )
  app.addHook('onClose', async () => purge.stop())
  const onError = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    answerError(error, request, reply, contract)
  app.setErrorHandler(onError)

  await addServiceRoutes(app, { contract, sql: pools.keys.sql, counters, isClosing })
  addDocumentation(app, contract)
  await app.register(async (scope) => {
    // Of errors in answering one, Fastify asks the next handler up.
    scope.setErrorHandler(onError)
    await addRoutes(scope, {
      contract,
      handlers,
      once: createOnce(pools.writes, contract.idempotency.keepHours),
      pools,
      admission,
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

// `/pets/` is another path than `/pets/{petId}`; the router takes it for that with an empty parameter.
function hasEmptyParameter({ params }: FastifyRequest): boolean {
  for (const name in params as object) if ((params as Record<string, string>)[name] === '') return true
  return false
}

function clientFinder(sql: Sql, { rateLimits }: Contract): FindClient {
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
function isMetered({ url }: FastifyRequest, route: Route | undefined, { prefix }: Contract): boolean {
  if (route?.url !== undefined) return route.config.operation !== undefined
  const path = requestPath(url)
  return path === prefix || path.startsWith(`${prefix}/`)
}

function createServer(
  config: Config,
  contract: Contract,
  log: Logger,
  lifetimes: Lifetimes,
): FastifyInstance {
  const app: FastifyInstance = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new RequestLog(),
    genReqId: requestId,
    trustProxy: config.trustProxy,
    bodyLimit: contract.limits.body,
    routerOptions: { maxParamLength: contract.limits.url },
    requestTimeout: config.requestTimeoutMs,
    keepAliveTimeout: config.keepAliveTimeoutMs,
    // Without a byte in either direction: a client that reads no answer would keep its connection for ever.
    connectionTimeout: config.requestTimeoutMs + config.handlerTimeoutMs,
    http: {
      maxHeaderSize: contract.limits.header,
      headersTimeout: Math.min(headersTimeoutMs, config.requestTimeoutMs),
      connectionsCheckingInterval: timeoutCheckMs,
      requireHostHeader: false, // checked by a hook, which can answer in the error body
    },
    // While it closes, the server finishes what it has accepted and asks for no more on its connections.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: createClientErrorHandler(contract, log, lifetimes),
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
      await new Promise<void>((resolve) => afterPacket(request.raw, resolve))
      if (!request.raw.socket.writable) return reply.hijack() // told already that the rest is broken
      if (isLast(request.raw)) reply.header('Connection', 'close')
      answerError(refusal, request, reply, contract)
    },
  })
  app.server.maxConnections = config.connectionsMax
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
  if (isMetered(request, request.matched, contract)) request.server.gate.recall(request, reply)
  const outage = error instanceof Overload || (isUnavailable(error) && error !== request.raw.errored)
  const apiError = outage ? unavailable(error) : toApiError(error, contract)
  const body = errorBody(apiError, contract)
  if (error instanceof Overload) request.reason = 'overload'
  else if (apiError.code === 'not_implemented')
    request.log.warn({ reason: apiError.message }, 'not written yet')
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
    if (isLast(request.raw) || closing) reply.header('Connection', 'close')
    done(null, payload)
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
