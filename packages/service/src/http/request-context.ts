// Makes the context of a handler from its request.

import { mayStream, type Operation } from 'contract-engine'
import { selfReference, selfWith } from 'contract-engine/lib/relative-references'
import type { FastifyRequest } from 'fastify'
import type { Client } from '../auth/client.js'
import type { Pools, Sql } from '../database/database.js'
import type { HandlerContext } from './handlers.js'
import type { Lifetime } from './lifetime.js'

type Context = HandlerContext<Client | undefined, string, object>

/**
 * Returns a function that makes the context of a handler. A writing operation gets the tag of the transaction
 * around it. A safe operation gets a tag that reads, on standbys if there are any, until its request ends.
 */
export function createContexts(
  operations: readonly Operation[],
  { reads }: Pick<Pools, 'reads'>,
  services: object,
): (request: FastifyRequest, operation: Operation, transaction?: Sql) => RequestContext {
  const streaming = new Set(operations.filter(mayStream))
  return (request, operation, transaction) => {
    const { lifetime } = request
    const sql = transaction ?? reads.sqlUntil(streaming.has(operation) ? lifetime?.ofStream : lifetime)
    return new RequestContext(request, sql, services)
  }
}

// A class, because V8 takes a microsecond to make an object with own getters.
/** The second argument of a handler. */
export class RequestContext implements Context {
  readonly #request: FastifyRequest
  readonly contentType: string | undefined
  readonly log: Context['log']
  readonly client: Context['client']
  readonly callers: Context['callers']

  constructor(
    request: FastifyRequest,
    readonly sql: Sql,
    readonly services: Context['services'],
  ) {
    const { body, mediaType, log, client, callers = {} } = request
    this.#request = request
    this.contentType = body === undefined ? undefined : mediaType
    this.log = log
    this.client = client
    this.callers = callers
  }

  // Getters, because few handlers use them.
  get self(): string {
    return selfReference(this.#request.url)
  }

  get link(): Context['link'] {
    const { url } = this.#request
    return (rel, query) => `<${selfWith(url, selfReference(url), query)}>; rel="${rel}"`
  }

  get signal(): AbortSignal {
    return (this.#request.lifetime as Lifetime).signal // set by the first hook
  }
}
