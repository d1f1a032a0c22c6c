// Admission: the first hook that may refuse a request. It sheds load, authenticates the client, counts the
// request, and refuses one that is over a limit, malformed, or for no route. It runs before the body is
// read: a caller without a key or over its quota would otherwise have 64 kB read and parsed for a refusal.

import {
  type Contract,
  clientFaults,
  contractBelow,
  notFoundHandler,
  onlyStreams,
  type RequestError,
  type Security,
} from 'contract-engine'
import { requestPath } from 'contract-engine/lib/request-target'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from '../auth/client.js'
import { rateCost } from '../auth/plans.js'
import type { LoadShedder } from '../middleware/load-shedding.js'
import { nameOperations, operationNameOf } from '../middleware/operation-names.js'
import { isToGuess } from '../middleware/unavailable.js'
import type { RateLimiter } from '../rate-limit/rate-limiter.js'
import { closeIfAmbiguous } from './ambiguous-requests.js'
import { setCommonHeaders } from './headers.js'
import { malformedTarget } from './request-target.js'

declare module 'fastify' {
  interface FastifyInstance {
    admission: Admission
  }
  interface FastifyRequest {
    /** The caller, if its credential is valid. */
    client: Client | undefined
    /** The callers of all schemes that the request meets, by name of the scheme. */
    callers: Readonly<Record<string, Client>> | undefined
    /**
     * `routeOptions`, kept because Fastify builds them on each access. Undefined without a route, or before
     * admission.
     */
    matched: FastifyRequest['routeOptions'] | undefined
  }
}

/** A contract whose requests the service admits. */
export interface Admitted {
  readonly contract: Contract
  readonly security: Security<Client>
  readonly rateLimiter: RateLimiter
}

export interface AdmissionParts {
  /** The service's own contract first, because it gets most requests. */
  readonly admitted: readonly Admitted[]
  readonly loadShedder: LoadShedder
}

/** Adds the admission hook. Routes must be added after it. */
export function addAdmission(app: FastifyInstance, { admitted, loadShedder }: AdmissionParts): void {
  const [own, ...others] = admitted as readonly [Admitted, ...Admitted[]] // the service has a contract
  const { contract } = own
  const admission = new Admission(own, others, notFoundHandler(app, contract))
  const operations = admitted.flatMap((each) => [...each.contract.operations.values()])
  const streaming = new Set(operations.filter(onlyStreams))
  nameOperations(app, contract)
  app.decorate('admission', admission)
  app.decorateRequest('matched', undefined)
  app.decorateRequest('client', undefined)
  app.decorateRequest('callers', undefined)
  app.decorateRequest('rateLimitRefusal', undefined)

  app.addHook('onRequest', (request, reply, done) => {
    const hasBadTarget = request.url === malformedTarget
    if (!hasBadTarget && !request.is404) request.matched = request.routeOptions
    setCommonHeaders(request, reply)
    const isAmbiguous = closeIfAmbiguous(request)
    const operation = request.matched?.config.operation
    if (operation !== undefined) loadShedder.check()
    if (operation !== undefined && streaming.has(operation))
      loadShedder.check('streams', operationNameOf(request, operation))
    const admitting = admission.admit(request, reply, isAmbiguous || hasBadTarget)
    if (admitting === undefined) done()
    return admitting
  })
}

/** Authenticates and counts requests for the contracts' paths, and refuses what no operation could take. */
class Admission {
  readonly #others: ReadonlyMap<Contract | undefined, Admitted>

  constructor(
    readonly own: Admitted,
    others: readonly Admitted[],
    readonly refuseUnknown: (request: FastifyRequest) => never,
  ) {
    this.#others = new Map(others.map((each) => [each.contract, each]))
  }

  /**
   * Sets `client`, `callers` and rate-limit headers. Throws or rejects, in this order: if a check of a
   * credential fails with an outage, if the request is over a limit, if it is malformed, if it has no route.
   * The operation itself throws 401 and 403. Most requests wait for nothing here, and get no promise.
   */
  admit(request: FastifyRequest, reply: FastifyReply, isMalformed: boolean): void | Promise<void> {
    const admitted = this.#admittedFor(request)
    const counting = admitted && this.#judge(request, reply, admitted)
    if (counting !== undefined) return counting.then(() => this.#refuseFaulty(request, isMalformed))
    this.#refuseFaulty(request, isMalformed)
  }

  // Goes by route, because a path can be encoded in several ways, or by path if there is no route. Returns
  // undefined outside of all contracts, and for a contract that was mounted without admission: that one
  // judges its callers itself, and nobody counts them.
  #admittedFor(request: FastifyRequest): Admitted | undefined {
    const { matched } = request
    if (matched?.url === undefined) return this.#admittedBelow(request)
    const contract = matched.config.mounted?.contract
    return contract === this.own.contract ? this.own : this.#others.get(contract)
  }

  #admittedBelow(request: FastifyRequest): Admitted | undefined {
    const { prefix } = this.own.contract
    const path = requestPath(request.originalUrl)
    const isOwn = path === prefix || path.startsWith(`${prefix}/`)
    const below = contractBelow(request) // undefined unless there are several contracts
    if (below === undefined) return isOwn ? this.own : undefined
    return below === this.own.contract ? this.own : this.#others.get(below)
  }

  #judge(request: FastifyRequest, reply: FastifyReply, admitted: Admitted): void | Promise<void> {
    const verdict = admitted.security.authenticate(request, request.matched?.config.operation)
    return verdict instanceof Promise
      ? verdict.then((settled) => this.#count(request, reply, admitted, settled))
      : this.#count(request, reply, admitted, verdict)
  }

  #count(
    request: FastifyRequest,
    reply: FastifyReply,
    { rateLimiter }: Admitted,
    { caller, callers, refusal }: Awaited<ReturnType<Security<Client>['authenticate']>>,
  ): void | Promise<void> {
    if (refusal !== undefined && refusal.statusCode >= 500)
      return this.#refuseUnjudged(request, reply, rateLimiter, refusal)
    request.client = caller
    request.callers = callers
    // A request that is refused for its credential does none of the costly work.
    const operation = request.matched?.config.operation
    const unauthorized = operation && refusal?.statusCode === 401 ? refusal : undefined
    const cost = refusal === undefined ? rateCost(operation) : 1
    return rateLimiter.count(request, reply, cost, unauthorized)
  }

  // Nobody knows the caller, so the request counts against no key. Guesses count against their address.
  async #refuseUnjudged(
    request: FastifyRequest,
    reply: FastifyReply,
    rateLimiter: RateLimiter,
    refusal: RequestError,
  ): Promise<never> {
    if (isToGuess(refusal)) await rateLimiter.count(request, reply, 1)
    throw refusal
  }

  #refuseFaulty(request: FastifyRequest, isMalformed: boolean): void {
    if (isMalformed) throw clientFaults.malformed()
    if (request.matched === undefined) this.refuseUnknown(request)
  }

  /** Sets the last known rate-limit headers on the response to a request that was not counted. */
  setLastHeaders(request: FastifyRequest, reply: FastifyReply): void {
    const admitted = this.#admittedFor(request)
    if (admitted === undefined || admitted.rateLimiter.hasHeaders(reply)) return
    request.client = admitted.security.recall(request, request.matched?.config.operation)
    admitted.rateLimiter.setLastHeaders(request, reply)
  }
}
