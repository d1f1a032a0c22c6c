// The HTTP server: every option of Fastify's and Node's, written out.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Logger } from 'pino'
import { holdsApiKey } from '../auth/api-key.js'
import type { Config } from '../config.js'
import { essence } from '../contract/media-types.js'
import type { Contract } from '../contract/types.js'
import { afterReading } from '../lib/after-reading.js'
import { compilable, createAjv } from '../schemas/ajv.js'
import { beginAnswer } from './admission.js'
import { createClientErrorHandler, createConnectHandler } from './client-errors.js'
import { followsLastRequest, mustClose } from './connections.js'
import { createErrorHandler } from './error-handler.js'
import type { Lifetimes } from './lifetime.js'
import { createRequestLogger, RequestLog } from './request-log.js'

// A client that sends its headers slower than this keeps a connection for nothing.
const headersTimeoutMs = 10_000
// How often Node looks for requests past their time.
const timeoutCheckMs = 1_000

/** Makes the server, without routes. It answers every error in the one error body, and reads bodies as bytes. */
export function createServer(
  config: Config,
  contract: Contract,
  log: Logger,
  lifetimes: Lifetimes,
): FastifyInstance {
  const handleError = createErrorHandler(contract)
  const requestLog = new RequestLog(config.isAddressLogged)
  lifetimes.onAborted((request, reply) => requestLog.requestAborted(request, reply))
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
    clientErrorHandler: createClientErrorHandler(contract, log, lifetimes, config),
    frameworkErrors: (error, request, reply) =>
      void refuseUnroutable(error, request, reply).catch((err) => {
        request.log.error({ err }, 'request failed') // nobody else catches it, and it would be the end of all requests
        request.raw.socket.destroy()
      }),
  })
  // Of a request with a URL that cannot be routed: no hook sees it.
  const refuseUnroutable = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (followsLastRequest(request.raw)) return reply.hijack()
    beginAnswer(request, reply)
    let refusal = error
    try {
      await app.admission.admit(request, reply)
    } catch (admissionError) {
      refusal = admissionError
    }
    await new Promise<void>(afterReading)
    if (!request.raw.socket.writable) return reply.hijack() // told already that the rest is broken
    if (mustClose(request.raw)) reply.header('Connection', 'close')
    handleError(refusal, request, reply)
  }
  app.server.maxConnections = config.connectionsMax
  app.server.maxHeadersCount = 0 // bytes bound them: Node would drop those beyond a count, a key perhaps among them
  app.server.on('connect', createConnectHandler(contract, log, config))
  app.decorateRequest('reason', undefined)
  app.decorateRequest('isUnchecked', false)
  app.setErrorHandler(handleError)
  readBodiesAsBytes(app, contract)
  return app
}

// Whatever their type: the operation they are for says which types it takes. glue warns of a declared type without a parser by its
// name.
function readBodiesAsBytes(app: FastifyInstance, { operations }: Contract): void {
  const declared = [...operations.values()].flatMap(({ body }) => body?.mediaTypes.map(essence) ?? [])
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...new Set(declared), '*'], { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
}

// The caller's own id where the contract takes it and it is no secret, else a new one.
function createRequestId({ requestId }: Contract): (request: IncomingMessage) => string {
  const isValid = createAjv('check').compile(compilable(requestId))
  return ({ headers }) => {
    const given = headers['x-request-id']
    return typeof given === 'string' && isValid(given) && !holdsApiKey(given) ? given : randomUUID()
  }
}
