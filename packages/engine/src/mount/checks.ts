// The checks of a request before its handler runs, as hooks of its operation's route, and a few checks that
// only `mount` needs.

import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Operation } from '../document/contract.js'
import { routeName } from '../document/names.js'
import { ownError } from '../document/request-error.js'
import { refusesUnacceptable, successContents } from '../document/responses.js'
import { createPreference } from '../serve/request/accept.js'

/** Throws, or returns a promise that rejects, unless the request may pass. */
export type RouteCheck = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>

/**
 * Creates the check of `Accept`, if the contract declares a 406. Otherwise, a client gets what there is (RFC
 * 9110, section 12.5.1).
 */
export function acceptCheck(operation: Operation): RouteCheck | undefined {
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

/**
 * Joins all checks into one hook, since Fastify takes longer from one hook to the next than most checks take.
 * A check that need not wait makes no promise: as an async function, each check would make two, and take a
 * turn of the microtask queue.
 */
export function hook(...given: readonly (RouteCheck | undefined)[]): onRequestHookHandler {
  const checks = given.filter((each) => each !== undefined)
  const runFrom = (first: number, request: FastifyRequest, reply: FastifyReply): void | Promise<void> => {
    for (let i = first; i < checks.length; i++) {
      const waiting = (checks[i] as RouteCheck)(request, reply)
      // Stops if a response has been sent meanwhile, for example by a timeout.
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

/** Gives path parameters their own names back: the router cannot use every name of the contract. */
export function renamePathParameters({ parameters }: Operation): RouteCheck | undefined {
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

/**
 * Removes a range from HEAD requests, for which no range is defined (RFC 9110, section 14.2): their head is
 * that of the whole representation.
 */
export function ignoreRange({ parameters }: Operation): RouteCheck | undefined {
  const range = parameters.find((each) => each.in === 'header' && each.key === 'range')
  if (range === undefined || range.required) return undefined
  return ({ method, headers }) => {
    if (method !== 'HEAD') return
    delete headers.range
    delete headers['if-range'] // means nothing without a range (section 13.1.5)
  }
}
