// Preconditions of made operations that change something (RFC 9110, section 13.1.1). If an operation declares
// `If-Match`, the mock compares it with the entity tag that a GET of the same path sends, as a service would.

import type { FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../document/contract.js'
import { RequestError } from '../document/request-error.js'
import { requestPath } from '../lib/request-target.js'
import { sentQueryKeys } from '../serve/request/query-keys.js'
import { byStatus } from '../serve/response/response-validation.js'

/**
 * Refuses a request whose precondition is missing (428) or does not hold (412), if the contract declares
 * these responses.
 * @throws {RequestError} `precondition_required`, `precondition_failed`
 */
export async function checkPreconditions(
  operation: Operation,
  request: FastifyRequest,
  contract: Contract,
): Promise<void> {
  const { isSafe, parameters, responses } = operation
  if (isSafe || !parameters.some((each) => each.in === 'header' && /^if-match$/i.test(each.name))) return
  const given = request.headers['if-match']
  if (given === undefined) {
    if (!responses.has('428')) return
    throw refusal('precondition_required', 428, 'Send If-Match with the ETag of what you have read.')
  }
  if (byStatus(responses)(412) === undefined || given.trim() === '*') return
  const tag = await currentTag(request, contract)
  // The comparison is strong, so a weak tag never matches.
  if (tag === undefined || given.match(/(?:W\/)?"[^"]*"/g)?.includes(tag)) return
  throw refusal('precondition_failed', 412, 'This has another entity tag. Read it again.')
}

function refusal(code: string, status: number, message: string): RequestError {
  return new RequestError(code, message, { status })
}

/** Returns the entity tag that a GET of the same path sends; undefined if it sends none. */
export async function currentTag(request: FastifyRequest, contract: Contract): Promise<string | undefined> {
  const { operation } = request.routeOptions.config
  const isRead = [...contract.operations.values()].some(
    ({ method, path, prefix }) => method === 'GET' && path === operation?.path && prefix === operation.prefix,
  )
  if (!isRead) return undefined
  const url = `${requestPath(request.url)}?${sentQueryKeys(request)}`.replace(/\?$/, '')
  const headers = Object.entries(request.headers).filter(([name]) => !ofThisRequest.test(name))
  const response = await request.server.inject({ method: 'GET', url, headers: Object.fromEntries(headers) })
  const { etag } = response.headers
  return response.statusCode === 200 && typeof etag === 'string' ? etag : undefined
}

const ofThisRequest =
  /^(?:content-.*|transfer-encoding|connection|expect|te|trailer|upgrade|if-.*|range|accept|idempotency-key)$/
