// More than the service can work at. What comes beyond that is refused before any work is spent on it, so that what was
// admitted is answered in time: by the time it had passed Fastify, its hooks and the key, a refusal would have cost most of
// what the answer costs.

import { randomUUID } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { isAmbiguous } from './ambiguity.js'
import { bareAnswer } from './bare-answer.js'
import { comesAfterTheLast } from './connections.js'
import type { Contract } from './contract/document.js'
import { errorBody, unavailable } from './errors.js'
import { requestPath } from './request-path.js'

declare module 'fastify' {
  interface FastifyRequest {
    isInWork: boolean
  }
}

/** The requests of operations that have arrived whole and are not answered yet. */
export interface Work {
  count: number
  /** So far, for there was work enough. */
  refused: number
  readonly max: number
}

/** Counts them. A request that is still arriving costs nothing, so slow clients cannot use the places up. */
export function countWork(app: FastifyInstance, work: Work): void {
  app.decorateRequest('isInWork', false)
  app.addHook('preHandler', (request, _reply, done) => {
    request.isInWork = true
    work.count++
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.isInWork) work.count--
    request.isInWork = false
    done()
  })
}

/**
 * Makes Node's server of Fastify's listener: while there is work enough, operations get 503 with `Retry-After`
 * (RFC 9110, section 15.6.4), and whatever else is served as ever.
 */
export function createSheddingServer(
  work: Work,
  contract: Contract,
  log: Logger,
): (handle: RequestListener, options: { http?: ServerOptions | null }) => Server {
  const refuse = createRefusal(contract, log)
  // What has to be looked at more closely, or leaves its connection in doubt, is not for here.
  const isPlain = (request: IncomingMessage) =>
    requestPath(request.url ?? '').startsWith(`${contract.prefix}/`) &&
    !isAmbiguous(request) &&
    !comesAfterTheLast(request)
  return (handle, { http }) =>
    createServer(http ?? {}, (request, response) => {
      if (work.count < work.max || !isPlain(request)) return handle(request, response)
      work.refused++
      return refuse(request, response)
    })
}

function createRefusal(contract: Contract, log: Logger): RequestListener {
  const refusal = unavailable(undefined)
  const body = errorBody(refusal, contract)
  const answer = bareAnswer(body)
  const headers = { ...answer.headers, ...refusal.headers }
  return ({ method }, response) => {
    const requestId = randomUUID()
    response.writeHead(body.status, { ...headers, 'X-Request-Id': requestId })
    response.end(method === 'HEAD' ? undefined : answer.payload)
    log.warn({ requestId, method, status: body.status, reason: 'overload' }, 'request refused')
  }
}
