// The checks of a request before its handler runs, as hooks of its operation's route, and those of mount's
// own.

import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Operation } from '../document/contract.js'
import { routeName } from '../document/names.js'
import { ownError } from '../document/request-error.js'
import { refusesUnacceptable, successContents } from '../document/responses.js'
import { createPreference } from '../serve/request/accept.js'

/** Throws, or rejects, unless the request may pass. */
export type RouteCheck = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>

/** Where the contract declares a 406. Elsewhere a client gets what there is (RFC 9110, section 12.5.1). */
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
 * All checks as one hook, since Fastify's way from one to the next takes longer than most of them. One that
 * need not wait makes no promise: an async function for each would take two, and a turn of the microtask
 * queue.
 */
export function hook(...given: readonly (RouteCheck | undefined)[]): onRequestHookHandler {
  const checks = given.filter((each) => each !== undefined)
  const runFrom = (first: number, request: FastifyRequest, reply: FastifyReply): void | Promise<void> => {
    for (let i = first; i < checks.length; i++) {
      const waiting = (checks[i] as RouteCheck)(request, reply)
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

/** For HEAD no range is defined (RFC 9110, section 14.2): its head is that of the whole. */
export function ignoreRange({ parameters }: Operation): RouteCheck | undefined {
  const range = parameters.find((each) => each.in === 'header' && each.key === 'range')
  if (range === undefined || range.required) return undefined
  return ({ method, headers }) => {
    if (method !== 'HEAD') return
    delete headers.range
    delete headers['if-range'] // which means nothing without it (section 13.1.5)
  }
}
