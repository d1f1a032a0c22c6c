// Admission: the first hook that may refuse a request, before its body is read. It sheds load, authenticates
// the client, counts the request, and refuses one that is over a limit, malformed, or for no route.

import {
  type Contract,
  notFoundHandler,
  onlyStreams,
  type RequestError,
  type Security,
  type Verdict,
} from 'contract-engine'
import { requestPath } from 'contract-engine/lib/request-path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from '../auth/client.js'
import { rateCost } from '../auth/plans.js'
import type { LoadShedder } from '../middleware/load-shedding.js'
import { isToGuess } from '../middleware/unavailable.js'
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
    /** Who sent the request, if its credential is valid. */
    client: Client | undefined
    /** The callers of all schemes that the request meets, by their names. */
    callers: Readonly<Record<string, Client>> | undefined
    /** `routeOptions`, which Fastify builds on each access. Undefined without a route, before admission. */
    matched: FastifyRequest['routeOptions'] | undefined
  }
}

export interface AdmissionParts {
  readonly contract: Contract
  readonly security: Security<Client>
  readonly rateLimiter: RateLimiter
  readonly loadShedder: LoadShedder
}

/** Adds the admission hook. Routes must be added after it. */
export function addAdmission(app: FastifyInstance, parts: AdmissionParts): void {
  const { contract, loadShedder } = parts
  const admission = new Admission(parts, notFoundHandler(app, contract))
  const streaming = new Set([...contract.operations.values()].filter(onlyStreams))
  app.decorate('admission', admission)
  app.decorateRequest('matched', undefined)
  app.decorateRequest('client', undefined)
  app.decorateRequest('callers', undefined)
  app.decorateRequest('rateLimitRefusal', undefined)

  app.addHook('onRequest', (request, reply, done) => {
    const hasBadTarget = hasMalformedTarget(request)
    if (!hasBadTarget && !request.is404) request.matched = request.routeOptions
    setCommonHeaders(request, reply)
    const isAmbiguous = closeIfAmbiguous(request.raw)
    const operation = request.matched?.config.operation
    if (operation !== undefined) loadShedder.check()
    if (operation !== undefined && streaming.has(operation)) loadShedder.check('streams', operation.id)
    const admitting = admission.admit(request, reply, isAmbiguous || hasBadTarget)
    if (admitting === undefined) done()
    return admitting
  })
}

/** Authenticates and counts requests for the contract's paths, and refuses what no operation could take. */
class Admission {
  constructor(
    readonly parts: AdmissionParts,
    readonly refuseUnknown: (request: FastifyRequest) => never,
  ) {}

  /**
   * Sets `client`, `callers` and rate-limit headers. Throws or rejects over a limit, and if a check cannot tell
   * now; then what is malformed or has no route. A 401 and a 403 are the operation's to throw. Most requests
   * wait for nothing here, and get no promise.
   */
  admit(request: FastifyRequest, reply: FastifyReply, isMalformed: boolean): void | Promise<void> {
    const counting = isCounted(request, this.parts.contract) ? this.#judge(request, reply) : undefined
    if (counting !== undefined) return counting.then(() => this.#refuseFaulty(request, isMalformed))
    this.#refuseFaulty(request, isMalformed)
  }

  #judge(request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const verdict = this.parts.security.authenticate(request, request.matched?.config.operation)
    return verdict instanceof Promise
      ? verdict.then((settled) => this.#count(request, reply, settled))
      : this.#count(request, reply, verdict)
  }

  #count(request: FastifyRequest, reply: FastifyReply, verdict: Verdict<Client>): void | Promise<void> {
    const { caller, callers, refusal } = verdict
    if (refusal !== undefined && refusal.statusCode >= 500)
      return this.#refuseUnjudged(request, reply, refusal)
    request.client = caller
    request.callers = callers
    // What is refused for its credential does not do what is costly.
    const operation = request.matched?.config.operation
    const unauthorized = operation && refusal?.statusCode === 401 ? refusal : undefined
    const cost = refusal === undefined ? rateCost(operation) : 1
    return this.parts.rateLimiter.count(request, reply, cost, unauthorized)
  }

  // Nobody can tell who it is: it counts against no quota.
  async #refuseUnjudged(request: FastifyRequest, reply: FastifyReply, refusal: RequestError): Promise<never> {
    if (isToGuess(refusal)) await this.parts.rateLimiter.count(request, reply, 1)
    throw refusal
  }

  #refuseFaulty(request: FastifyRequest, isMalformed: boolean): void {
    if (isMalformed) throw malformed()
    if (request.matched === undefined) this.refuseUnknown(request)
  }

  /** Sets the rate-limit headers for a request that was not counted, as this process remembers them. */
  setLastHeaders(request: FastifyRequest, reply: FastifyReply): void {
    const { contract, security, rateLimiter } = this.parts
    if (!isCounted(request, contract) || rateLimiter.hasHeaders(reply)) return
    request.client = security.recall(request, request.matched?.config.operation)
    rateLimiter.setLastHeaders(request, reply)
  }
}

// By route, because a path can be encoded in several ways; by path if there is no route.
function isCounted({ originalUrl, matched }: FastifyRequest, { prefix }: Contract): boolean {
  if (matched?.url !== undefined) return matched.config.operation !== undefined
  const path = requestPath(originalUrl)
  return path === prefix || path.startsWith(`${prefix}/`)
}
