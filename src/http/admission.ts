// Admission: the first hook that may refuse a request, before its body is read. It sheds load, authenticates
// the client, counts the request, and refuses one that is over a limit, malformed, or for no route.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Authentication } from '../auth/authentication.js'
import type { Client } from '../auth/client.js'
import { requestPath } from '../lib/request-path.js'
import type { LoadShedder } from '../middleware/load-shedding.js'
import { type Contract, notFoundHandler, RequestError } from '../openapi/index.js'
import type { RateLimiter } from '../rate-limit/rate-limiter.js'
import { closeIfAmbiguous } from './ambiguous-requests.js'
import { malformed } from './faults.js'
import { setCommonHeaders } from './headers.js'
import { hasMalformedTarget } from './request-target.js'

declare module 'fastify' {
  interface FastifyInstance {
    admission: Admission
  }
  interface FastifyRequest {
    /** The client of a valid API key. */
    client: Client | undefined
    /** The 401 of a request without a valid key: the response of an operation that requires one. */
    unauthorized: RequestError | undefined
    /** `routeOptions`, which Fastify builds on each access. Undefined without a route, before admission. */
    matched: FastifyRequest['routeOptions'] | undefined
  }
}

export interface AdmissionParts {
  readonly contract: Contract
  readonly authentication: Authentication
  readonly rateLimiter: RateLimiter
  readonly loadShedder: LoadShedder
}

/** Adds the admission hook. Routes must be added after it. */
export function addAdmission(app: FastifyInstance, parts: AdmissionParts): void {
  const { contract, loadShedder } = parts
  const admission = new Admission(parts)
  const refuseUnknown = notFoundHandler(app, contract)
  app.decorate('admission', admission)
  app.decorateRequest('matched', undefined)
  app.decorateRequest('client', undefined)
  app.decorateRequest('unauthorized', undefined)
  app.decorateRequest('rateLimitRefusal', undefined)

  app.addHook('onRequest', async (request, reply) => {
    const isMalformed = hasMalformedTarget(request)
    if (!isMalformed && !request.is404) request.matched = request.routeOptions
    setCommonHeaders(request, reply)
    const isAmbiguous = closeIfAmbiguous(request.raw)
    if (request.matched?.config.operation !== undefined) loadShedder.check()
    await admission.admit(request, reply)
    if (isAmbiguous || isMalformed) throw malformed()
    if (request.matched === undefined) refuseUnknown(request)
  })
}

/** Authenticates requests for the contract's paths, and counts them. */
class Admission {
  constructor(readonly parts: AdmissionParts) {}

  /** Sets `client` or `unauthorized`, and rate-limit headers. Rejects over a limit. */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { contract, authentication, rateLimiter } = this.parts
    if (!isCounted(request, contract)) return
    const { authorization } = request.headers
    const found = authentication.known(authorization) ?? (await this.#lookUp(authorization))
    if (found instanceof RequestError) request.unauthorized = found
    else request.client = found
    await rateLimiter.count(request, reply)
  }

  /** Sets the rate-limit headers for a request that was not counted, as this process remembers them. */
  setLastHeaders(request: FastifyRequest, reply: FastifyReply): void {
    const { contract, authentication, rateLimiter } = this.parts
    if (!isCounted(request, contract) || rateLimiter.hasHeaders(reply)) return
    request.client = authentication.recall(request.headers.authorization)
    rateLimiter.setLastHeaders(request, reply)
  }

  // A key that this process has never found may be a guess.
  #lookUp(authorization: string | undefined): Promise<Client | RequestError> {
    const { authentication, loadShedder } = this.parts
    const lane = authentication.recall(authorization) ? 'work' : 'unknown keys'
    return loadShedder.run(() => authentication.lookUp(authorization), lane)
  }
}

// By route, because a path can be encoded in several ways; by path if there is no route.
function isCounted({ originalUrl, matched }: FastifyRequest, { prefix }: Contract): boolean {
  if (matched?.url !== undefined) return matched.config.operation !== undefined
  const path = requestPath(originalUrl)
  return path === prefix || path.startsWith(`${prefix}/`)
}

/** The check of an operation that requires a bearer key. */
export function requireClient(request: FastifyRequest): void {
  if (request.client === undefined) throw request.unauthorized ?? new Error('the request was not admitted')
}
