// The context of a handler, made from its request.

import { selfReference, selfWith } from 'contract-engine/lib/relative-references'
import type { FastifyRequest } from 'fastify'
import type { Sql } from '../database/database.js'
import type { Context } from '../handlers/handler.js'
import type { Lifetime } from './lifetime.js'

// A class, because V8 takes a microsecond to make an object with a getter of its own.
/** The second argument of a handler. */
export class RequestContext implements Context {
  readonly #request: FastifyRequest
  readonly self: string
  readonly link: Context['link']
  readonly contentType: string | undefined
  readonly log: Context['log']
  readonly client: Context['client']
  readonly callers: Context['callers']

  constructor(
    request: FastifyRequest,
    readonly sql: Sql,
    readonly services: Context['services'],
  ) {
    const { url, body, mediaType, log, client, callers = {} } = request
    const self = selfReference(url)
    this.#request = request
    this.self = self
    this.link = (rel, query) => `<${selfWith(url, self, query)}>; rel="${rel}"`
    this.contentType = body === undefined ? undefined : mediaType
    this.log = log
    this.client = client as Context['client'] // there, unless the operation requires none
    this.callers = callers
  }

  get signal(): AbortSignal {
    return (this.#request.lifetime as Lifetime).signal // since its first hook
  }
}
