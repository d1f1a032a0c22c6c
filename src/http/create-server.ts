// The HTTP server, with every limit and timeout of Fastify and Node.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
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
import { type Contract, createRequestIdCheck } from '../openapi/index.js'
import { closeIfAmbiguous } from './ambiguous-requests.js'
import { createClientErrorHandlers } from './client-errors.js'
import { closeAfterUpgrade, mustClose } from './connections.js'
import { createErrorHandler } from './error-handler.js'
import { setCommonHeaders } from './headers.js'
import type { Lifetimes } from './lifetime.js'
import { boundPipelines } from './pipelining.js'
import { createRequestLogger, RequestLog } from './request-log.js'

// A client that sends its headers more slowly wastes a connection.
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
  const handleError = createErrorHandler(contract)
  const clientErrors = createClientErrorHandlers(contract, log, lifetimes, config)
  const requestLog = new RequestLog(config.isAddressLogged)
  lifetimes.onEnd((request, reply, isAborted) => {
    if (isAborted) requestLog.requestAborted(request, reply)
  })
  const app: FastifyInstance = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: requestLog,
    childLoggerFactory: createRequestLogger,
    genReqId: createRequestId(contract),
    trustProxy: config.trustProxy,
    bodyLimit: contract.limits.body,
    routerOptions: { maxParamLength: contract.limits.url },
    requestTimeout: config.requestTimeoutMs,
    keepAliveTimeout: config.keepAliveTimeoutMs,
    // For a socket without a byte in either direction: a client that does not read its response must not keep the connection forever.
    connectionTimeout: config.requestTimeoutMs + config.handlerTimeoutMs,
    http: {
      maxHeaderSize: contract.limits.header,
      headersTimeout: Math.min(headersTimeoutMs, config.requestTimeoutMs),
      connectionsCheckingInterval: timeoutCheckMs,
      requireHostHeader: false, // checked at admission, whose 400 has the error body
    },
    // On close, requests in flight finish, and each response closes its connection.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: clientErrors.clientError,
    frameworkErrors: (error, request, reply) =>
      void refuseUnroutable(error, request, reply).catch((err) => {
        request.log.error({ err }, 'request failed') // an unhandled rejection would stop the process
        request.raw.socket.destroy()
      }),
  })
  // Responds to a request with a malformed URL, for which Fastify runs no hooks: does what they would do.
  const refuseUnroutable = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    closeAfterUpgrade(request.raw)
    setCommonHeaders(request, reply)
    closeIfAmbiguous(request.raw)
    let refusal = error
    try {
      await app.admission.admit(request, reply)
    } catch (admissionError) {
      refusal = admissionError
    }
    await new Promise<void>(afterReading)
    if (!request.raw.socket.writable) return reply.hijack() // the rest was malformed, and that response is sent
    if (mustClose(request.raw)) reply.header('Connection', 'close')
    handleError(refusal, request, reply)
  }
  app.server.maxConnections = config.connectionsMax
  app.server.maxHeadersCount = 0 // unlimited: maxHeaderSize is the limit, and Node would silently drop headers beyond the count
  app.server.on('connect', clientErrors.connect)
  boundPipelines(app.server)
  app.decorateRequest('reason', undefined)
  app.setErrorHandler(handleError)
  return app
}

// The client's id if the contract's pattern allows it and it contains no API key, else a new one.
function createRequestId(contract: Contract): (request: IncomingMessage) => string {
  const isValid = createRequestIdCheck(contract)
  return ({ headers }) => {
    const given = headers['x-request-id']
    return typeof given === 'string' && isValid(given) && !containsApiKey(given) ? given : randomUUID()
  }
}
