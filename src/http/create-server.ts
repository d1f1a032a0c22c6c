// The HTTP server, with every limit and timeout of Fastify and Node.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Logger } from 'pino'
import { containsApiKey } from '../auth/api-key.js'
import type { Config } from '../config.js'
import { afterReading } from '../lib/after-reading.js'
import { type Contract, createRequestIdCheck, type ErrorHandler } from '../openapi/index.js'
import { closeIfAmbiguous } from './ambiguous-requests.js'
import { createClientErrorHandler } from './client-errors.js'
import { mustClose } from './connections.js'
import { createServiceErrorHandler } from './error-handler.js'
import { setCommonHeaders } from './headers.js'
import type { Lifetimes } from './lifetime.js'
import { boundPipelines } from './pipelining.js'
import { createRequestLogger, RequestLog } from './request-log.js'

// A peer that sends its headers more slowly wastes a connection.
const headersTimeoutMs = 10_000
// How often Node checks for requests that have timed out.
const timeoutCheckMs = 1_000

/** Creates the server, without routes. Every error has the one error body. */
export function createServer(
  config: Config,
  contract: Contract,
  log: Logger,
  lifetimes: Lifetimes,
): FastifyInstance {
  const handleError = createServiceErrorHandler(contract)
  const requestLog = new RequestLog(config.isAddressLogged)
  lifetimes.onEnd((request, reply, isAborted) => {
    if (isAborted) requestLog.requestAborted(request, reply)
  })
  const app: FastifyInstance = Fastify({
    ...limitsOf(config, contract),
    loggerInstance: log as FastifyBaseLogger,
    logController: requestLog,
    childLoggerFactory: createRequestLogger,
    genReqId: createRequestId(contract),
    trustProxy: config.trustProxy,
    // On close, requests in flight finish, and each response closes its connection.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: createClientErrorHandler({ contract, log, lifetimes, config }),
    frameworkErrors: createUnroutableHandler(handleError),
  })
  configure(app.server, config)
  app.decorateRequest('reason', undefined)
  app.setErrorHandler(handleError)
  return app
}

// What Fastify has no option for.
function configure(server: Server, { connectionsMax }: Config): void {
  server.maxConnections = connectionsMax
  server.maxHeadersCount = 0 // unlimited: maxHeaderSize is the limit; Node would drop headers beyond a count
  boundPipelines(server)
}

function limitsOf({ requestTimeoutMs, keepAliveTimeoutMs, handlerTimeoutMs }: Config, { limits }: Contract) {
  return {
    bodyLimit: limits.body,
    routerOptions: { maxParamLength: limits.url },
    requestTimeout: 0, // of the Lifetime
    keepAliveTimeout: keepAliveTimeoutMs,
    // For a socket without a byte in either direction: a peer that does not read must not keep it forever.
    connectionTimeout: requestTimeoutMs + handlerTimeoutMs,
    http: {
      maxHeaderSize: limits.header,
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      connectionsCheckingInterval: timeoutCheckMs,
      requireHostHeader: false, // checked at admission, whose 400 has the error body
    },
  }
}

function createUnroutableHandler(handleError: ErrorHandler): ErrorHandler {
  return (error, request, reply) =>
    void refuseUnroutable(error, request, reply, handleError).catch((err) => {
      request.log.error({ err }, 'request failed') // an unhandled rejection would stop the process
      request.raw.socket.destroy()
    })
}

// Responds to a request with a malformed URL, for which Fastify runs no hooks: does what they would do.
async function refuseUnroutable(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  handleError: ErrorHandler,
): Promise<void> {
  setCommonHeaders(request, reply)
  closeIfAmbiguous(request.raw)
  let refusal = error
  try {
    await request.server.admission.admit(request, reply)
  } catch (admissionError) {
    refusal = admissionError
  }
  await new Promise<void>(afterReading)
  if (!request.raw.socket.writable) {
    reply.hijack() // the rest was malformed, and that response is sent
    return
  }
  if (mustClose(request.raw)) reply.header('Connection', 'close')
  handleError(refusal, request, reply)
}

// The client's id if the contract's pattern allows it and it contains no API key, else a new one.
function createRequestId(contract: Contract): (request: IncomingMessage) => string {
  const isValid = createRequestIdCheck(contract)
  return ({ headers }) => {
    const given = headers['x-request-id']
    return typeof given === 'string' && isValid(given) && !containsApiKey(given) ? given : randomUUID()
  }
}
