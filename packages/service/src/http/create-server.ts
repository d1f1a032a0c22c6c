// The HTTP server, with every limit and timeout of Fastify and Node.

import type { Server } from 'node:http'
import { type Contract, type ErrorBodyOf, type Operation, withoutCompilers } from 'contract-engine'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { createClientErrorHandler } from './client-errors.js'
import { createServiceErrorHandler } from './error-handler.js'
import type { Lifetimes } from './lifetime.js'
import { boundPipelines, bufferBytes } from './pipelining.js'
import { createRequestId, createRequestLogger, RequestLog } from './request-log.js'
import { toOriginForm } from './request-target.js'
import { Response } from './response-heads.js'

// The time for the head of a request: a slower peer wastes a connection.
const headersTimeoutMs = 10_000
// How often Node checks for requests that have timed out.
const timeoutCheckMs = 1_000

export interface ServerParts {
  /** The service's own contract, or the first of several. */
  readonly contract: Contract
  /** The operations of all contracts. */
  readonly operations: readonly Operation[]
  readonly errorBody: ErrorBodyOf | undefined
}

/** Creates the server, without routes. Every error has a body of the contract's form. */
export function createServer(
  config: Config,
  { contract, operations, errorBody }: ServerParts,
  log: Logger,
  lifetimes: Lifetimes,
  securityHeaders: FastifyInstance['securityHeaders'],
): FastifyInstance {
  const requestLog = new RequestLog(config.isAddressLogged)
  lifetimes.onEnd(requestLog.requestEnded.bind(requestLog))
  const app: FastifyInstance = Fastify({
    ...limitsOf(config, contract, operations),
    ...withoutCompilers,
    loggerInstance: log as FastifyBaseLogger,
    logController: requestLog,
    childLoggerFactory: createRequestLogger,
    genReqId: createRequestId(contract),
    trustProxy: config.trustProxy,
    // On close, requests in flight finish, and each response closes its connection.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: createClientErrorHandler({
      ...{ contract, lifetimes, config, errorBody },
      headers: securityHeaders(),
    }),
    rewriteUrl: toOriginForm,
  })
  configure(app.server, config)
  app.decorate('securityHeaders', securityHeaders)
  app.decorateRequest('reason', undefined)
  app.setErrorHandler(createServiceErrorHandler(contract, errorBody))
  return app
}

// Sets the options of Node that Fastify does not have.
function configure(server: Server, { connectionsMax }: Config): void {
  server.maxConnections = connectionsMax
  server.maxHeadersCount = 0 // unlimited: maxHeaderSize is the limit; Node would drop headers beyond a count
  boundPipelines(server)
}

function limitsOf(
  { requestTimeoutMs, keepAliveTimeoutMs, handlerTimeoutMs }: Config,
  { limits }: Contract,
  operations: readonly Operation[],
) {
  const longestMs = operations.map((each) => each.limits.timeoutMs ?? 0)
  return {
    bodyLimit: limits.body,
    requestTimeout: 0, // see `Lifetime`
    keepAliveTimeout: keepAliveTimeoutMs,
    // Ends a socket without a byte in either direction: a peer that does not read must not keep it forever.
    connectionTimeout: requestTimeoutMs + Math.max(handlerTimeoutMs, ...longestMs),
    http: {
      highWaterMark: bufferBytes,
      maxHeaderSize: limits.header,
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      connectionsCheckingInterval: timeoutCheckMs,
      ...{ ServerResponse: Response, optimizeEmptyRequests: true }, // missing from Fastify's types
      requireHostHeader: false, // checked at admission, whose 400 has an error body
    },
  }
}
