// Admission: the first thing that happens to a request. Who calls is found out, and the request counted, whatever becomes of it; what
// is one too many, or too much for now, goes no further.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticate } from '../auth/authentication.js'
import type { Client } from '../auth/client.js'
import type { Contract } from '../contract/types.js'
import { ApiError, requestFault } from '../errors.js'
import { callBack, type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import type { RateLimiter } from '../rate-limit/rate-limiter.js'
import { isAmbiguous } from './ambiguous-requests.js'
import { closeAfter } from './connections.js'
import { setCommonHeaders } from './headers.js'
import type { LoadShedder } from './load-shedding.js'
import { collectMethods, hasRoute, notFound } from './not-found.js'
import { requestPath } from './request-path.js'

declare module 'fastify' {
  interface FastifyInstance {
    admission: Admission
  }
  interface FastifyRequest {
    /** Whoever calls, if the key is valid. */
    client: Client | undefined
    /** Why there is no client, for whatever needs one. */
    authenticationError: ApiError | undefined
    /** `routeOptions`, which Fastify makes anew each time they are asked for. Undefined where there is no route, or no hook has run. */
    matched: FastifyRequest['routeOptions'] | undefined
  }
}

/** What finds out who calls, and counts the requests of the contract's operations. */
export interface Admission {
  /** Sets `client` or `authenticationError`, and the rate-limit headers. Throws, or rejects, when it is one request too many. */
  admit(request: FastifyRequest, reply: FastifyReply): MaybePromise<void>
  /** For a request that is answered before it was counted: the rate-limit headers alone, as far as this process remembers. */
  setLastHeaders(request: FastifyRequest, reply: FastifyReply): void
}

export interface AdmissionParts {
  readonly contract: Contract
  readonly authenticate: Authenticate
  readonly rateLimiter: RateLimiter
  readonly loadShedder: LoadShedder
}

/** Has every request admitted, or refused, before anything else is done for it. */
export function addAdmission(app: FastifyInstance, parts: AdmissionParts): void {
  const { contract, loadShedder } = parts
  const admission = createAdmission(parts)
  const allowedMethods = collectMethods(app)
  app.decorate('admission', admission)
  app.decorateRequest('matched', undefined)
  app.decorateRequest('client', undefined)
  app.decorateRequest('authenticationError', undefined)
  app.decorateRequest('rateLimitRefusal', undefined)

  const receive = (request: FastifyRequest, reply: FastifyReply): MaybePromise<void> => {
    if (hasRoute(request)) request.matched = request.routeOptions
    const isInDoubt = beginAnswer(request, reply)
    if (request.matched?.config.operation !== undefined) loadShedder.check()
    return thenMaybe(admission.admit(request, reply), () => {
      if (request.url.length > contract.limits.url) throw requestFault('uri_too_long', contract)
      if (isInDoubt) throw requestFault('malformed_request', contract)
      // Before the body is read: what it holds does not matter where nothing takes it.
      if (request.matched === undefined) throw notFound(request, allowedMethods)
    })
  }
  app.addHook('onRequest', (request, reply, done) => callBack(() => receive(request, reply), done))
}

function createAdmission({ contract, authenticate, rateLimiter, loadShedder }: AdmissionParts): Admission {
  function accept(request: FastifyRequest, reply: FastifyReply, client: Client): MaybePromise<void> {
    request.client = client
    return rateLimiter.count(request, reply)
  }

  // Whatever needs a client will say so; what is no refusal fails the request here, and charges nobody.
  function refuse(request: FastifyRequest, reply: FastifyReply, error: unknown): MaybePromise<void> {
    if (!(error instanceof ApiError)) throw error
    request.authenticationError = error
    return rateLimiter.count(request, reply)
  }

  return {
    admit(request, reply) {
      if (!isCounted(request, contract)) return undefined
      let found: ReturnType<Authenticate>
      try {
        found = authenticate(request.headers.authorization)
      } catch (error) {
        return refuse(request, reply, error)
      }
      if (!('run' in found)) return accept(request, reply, found)
      const { isGuess, run } = found
      return rateLimiter.lookUp(request, reply, isGuess, () =>
        loadShedder.run(run).then(
          (client) => accept(request, reply, client),
          (error) => refuse(request, reply, error),
        ),
      )
    },
    setLastHeaders(request, reply) {
      if (!isCounted(request, contract) || rateLimiter.hasHeaders(reply)) return
      request.client = authenticate.recall(request.headers.authorization)
      rateLimiter.setLastHeaders(request, reply)
    },
  }
}

// By route, for a path may be written in several ways; by path where there is no route.
function isCounted({ url, matched }: FastifyRequest, { prefix }: Contract): boolean {
  if (matched?.url !== undefined) return matched.config.operation !== undefined
  const path = requestPath(url)
  return path === prefix || path.startsWith(`${prefix}/`)
}

/**
 * Gives the answer to a request what every answer has. Says whether the request is in doubt, and then its connection's last.
 */
export function beginAnswer(request: FastifyRequest, reply: FastifyReply): boolean {
  setCommonHeaders(request, reply)
  const isInDoubt = isAmbiguous(request.raw)
  if (isInDoubt) closeAfter(request.raw)
  return isInDoubt
}

/** What an operation asks for that wants a bearer key. */
export function requireClient(request: FastifyRequest): void {
  if (request.client === undefined)
    throw request.authenticationError ?? new Error('the request was not admitted')
}
