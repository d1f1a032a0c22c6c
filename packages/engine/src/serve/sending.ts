// Sends the responses of operations.

import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../document/contract.js'
import type { Address } from './paths/address.js'
import { withAbsoluteLinks } from './response/absolute-links.js'
import { hasEntityTags, isKnownTo } from './response/entity-tags.js'
import { addHeaders } from './response/list-headers.js'
import type { SerializedResponse } from './response/response-serialization.js'
import { isOver, mayStream, sendStream } from './response/response-stream.js'

/** Sends a response. Returns the reply, or a promise of it. */
type Send = (request: FastifyRequest, reply: FastifyReply, response: SerializedResponse) => unknown

/**
 * True if the response has already been sent, for example by a time limit. The later failure is logged here
 * at debug level; Fastify would log it as an error.
 */
export function isToldOf(request: FastifyRequest, reply: FastifyReply, error: unknown): boolean {
  if (reply.sent) request.log.debug({ err: error }, 'failed after its response')
  return reply.sent
}

/** Creates the function that sends the responses of an operation. */
export function createSend(operation: Operation, address: Address): Send {
  const isConditional = hasEntityTags(operation)
  const streams = mayStream(operation)
  return (request, reply, response) => {
    const { status, body } = response
    const headers = response.sent ?? withAbsoluteLinks(response.headers, request, address)
    if (streams && body instanceof Readable)
      return sendStream(request, reply, { status, headers, body }, operation.id)
    if (isOver(request, reply)) return undefined
    addHeaders(reply, headers)
    const known = isConditional ? request.headers['if-none-match'] : undefined
    if (known === undefined || !isKnownTo(known, response)) return reply.code(status).send(body)
    // For HEAD, Fastify derives Content-Length from the body, so that it is the length of a 200 (RFC 9110,
    // section 8.6).
    return reply
      .code(304)
      .removeHeader('content-type')
      .send(request.method === 'HEAD' ? body : undefined)
  }
}
