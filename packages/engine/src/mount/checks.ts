// The checks of a request before its handler runs, each a step of a hook of its operation's route.

import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Contract, Operation } from '../document/contract.js'
import { routeName } from '../document/names.js'
import { ownError } from '../document/request-error.js'
import { refusesUnacceptable, successContents } from '../document/responses.js'
import { bodyLength } from '../lib/field-values.js'
import type { Address } from '../serve/paths/address.js'
import { hasRoute } from '../serve/paths/not-found.js'
import { createPreference } from '../serve/request/accept.js'
import { checkUrl } from '../serve/request/errors.js'
import { receivedBy, responseTo } from '../serve/request/request-parts.js'
import { checkMediaType, checkRequest } from '../serve/request/request-validation.js'
import type { DeprecationHeaders } from '../serve/response/deprecation.js'
import type { Verdict } from '../serve/security/check.js'
import type { Security } from '../serve/security/security.js'

/** Throws, or rejects, unless the request may pass. */
export type Check = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>

/** A path with an empty parameter is no path of the contract. */
export function routeCheck(
  { path }: Operation,
  contract: Contract,
  refuseUnknown: (request: FastifyRequest) => never,
): (request: FastifyRequest) => void {
  if (!path.includes('{')) return (request) => checkUrl(request, contract)
  return (request) => {
    if (hasRoute(request)) checkUrl(request, contract)
    else refuseUnknown(request)
  }
}

/** Where the contract declares a 406. Elsewhere a client gets what there is (RFC 9110, section 12.5.1). */
export function acceptCheck(operation: Operation): Check | undefined {
  if (!refusesUnacceptable(operation)) return undefined
  const contents = successContents(operation)
  const prefer = createPreference(contents)
  const types = contents.map(({ mediaType }) => mediaType).join(' or ')
  return ({ headers }) => {
    if (prefer(headers.accept) !== undefined) return
    throw ownError('not_acceptable', `The response is of type ${types}, which Accept does not allow.`, {
      headers: { Vary: 'Accept' },
    })
  }
}

export function deprecationCheck(headersFor: DeprecationHeaders, address: Address): Check {
  return (request, reply) => {
    const headers = headersFor(address.operationsFor(request))
    for (const name in headers) reply.header(name, headers[name])
  }
}

/** The check of a body before it is read. */
export function bodyCheck(operation: Operation): Check {
  const mayHaveBody = !hasNoBody(operation)
  return (request, reply) => {
    request[receivedBy] = operation
    request[responseTo] = reply.raw
    return mayHaveBody || saysAnyOfBody(request) ? checkMediaType(request, operation) : undefined
  }
}

/** Whether Fastify reads no body for an operation (GET and HEAD), which declares none either. */
export function hasNoBody({ body, isSafe }: Operation): boolean {
  return body === undefined && isSafe
}

function saysAnyOfBody({ headers }: FastifyRequest): boolean {
  return bodyLength(headers) !== 0 || headers['content-type'] !== undefined
}

/** The check of all that has been read. */
export function requestCheck(operation: Operation): Check {
  return (request) => checkRequest(request, operation)
}

/**
 * All checks as one hook, since Fastify's way from one to the next takes longer than most of them. One that
 * need not wait makes no promise: an async function for each would take two, and a turn of the microtask
 * queue.
 */
export function hook(...given: readonly (Check | undefined)[]): onRequestHookHandler {
  const checks = given.filter((each) => each !== undefined)
  const runFrom = (first: number, request: FastifyRequest, reply: FastifyReply): void | Promise<void> => {
    for (let i = first; i < checks.length; i++) {
      const waiting = (checks[i] as Check)(request, reply)
      // What has been responded to meanwhile, such as by a timeout, goes no further.
      if (waiting !== undefined)
        return waiting.then(() => (reply.sent ? undefined : runFrom(i + 1, request, reply)))
    }
    return undefined
  }
  return (request, reply, done) => {
    const waiting = runFrom(0, request, reply)
    if (waiting === undefined) done()
    return waiting // Fastify goes on when it resolves
  }
}

/** The router cannot use every name of the contract: these path parameters get their own names back. */
export function renamePathParameters({ parameters }: Operation): Check | undefined {
  const names = parameters
    .filter((each) => each.in === 'path')
    .map(({ name }) => [name, routeName(name)] as const)
    .filter(([name, inRoute]) => inRoute !== name)
  if (names.length === 0) return undefined
  return ({ params }) => {
    const values = params as Record<string, unknown>
    for (const [name, inRoute] of names) {
      values[name] = values[inRoute]
      delete values[inRoute]
    }
  }
}

/** For HEAD no range is defined (RFC 9110, section 14.2): its head is that of the whole. */
export function ignoreRange({ parameters }: Operation): Check | undefined {
  const range = parameters.find((each) => each.in === 'header' && each.name.toLowerCase() === 'range')
  if (range === undefined || range.required) return undefined
  return ({ method, headers }) => {
    if (method !== 'HEAD') return
    delete headers.range
    delete headers['if-range'] // which means nothing without it (section 13.1.5)
  }
}

/**
 * If the server cannot check an operation's requirements: 501; with a handler, startup has failed already.
 * A key in the query is taken out, whatever the operation requires.
 */
export function securityCheck(operation: Operation, unmet: string | undefined, security: Security): Check {
  if (unmet !== undefined) {
    return (request) => {
      security.takeQueryKeys(request)
      throw ownError('not_implemented', unmet)
    }
  }
  if (operation.security.length === 0) return (request) => security.takeQueryKeys(request)
  return (request) => {
    const verdict = security.authenticate(request, operation)
    return verdict instanceof Promise ? verdict.then(pass) : pass(verdict)
  }
}

function pass({ refusal }: Verdict): void {
  if (refusal !== undefined) throw refusal
}
