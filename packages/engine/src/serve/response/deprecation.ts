// What the server does about a deprecated operation, by the dates in the contract: sets headers, ends the
// operation at its sunset, and warns the operator.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../../document/contract.js'
import { sunsets } from '../../document/deprecation.js'
import { ownError } from '../../document/request-error.js'
import { encoded } from '../../lib/relative-references.js'

/**
 * Returns the headers of a deprecated operation. `Link` depends on the URL at which a caller reaches the
 * operations.
 */
export type DeprecationHeaders<From = FastifyRequest> = (from: From) => Readonly<Record<string, string>>

/**
 * Creates `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` to the successor (RFC 8288, RFC 5829).
 * Returns undefined if the operation is not deprecated.
 * @param at says at which URL a caller reaches the operations
 */
export function deprecationHeaders<From>(
  { deprecation, prefix }: Operation,
  { operations }: Pick<Contract, 'operations'>,
  at: { operationsFor(from: From): string },
): DeprecationHeaders<From> | undefined {
  if (deprecation === undefined) return undefined
  const { deprecatedAt, sunset, successor } = deprecation
  const headers: Record<string, string> = { Deprecation: `@${deprecatedAt.getTime() / 1000}` }
  if (sunset !== undefined) headers.Sunset = sunset.toUTCString()
  const target = successor === undefined ? undefined : operations.get(successor)
  if (target === undefined) return () => headers
  const path = encoded(target.path) // a successor's path has no parameters
  const baseOf = target.prefix === prefix ? (url: string) => url : rebased(prefix, target.prefix)
  // Most callers reach the operations at the same URL, so the last result is kept.
  let last: string | undefined
  let withLink = headers
  return (from) => {
    const url = at.operationsFor(from)
    if (url !== last) withLink = { ...headers, Link: `<${baseOf(url)}${path}>; rel="successor-version"` }
    last = url
    return withLink
  }
}

// Returns the URL of operations with another prefix; if a gateway has replaced the prefix, appends the other
// one.
function rebased(prefix: string, other: string): (url: string) => string {
  return (url) => (url.endsWith(prefix) ? url.slice(0, url.length - prefix.length) : url) + other
}

/** Creates a hook that sets the headers of a deprecated operation, before anything can fail. */
export function deprecationCheck(
  headersFor: DeprecationHeaders,
): (request: FastifyRequest, reply: FastifyReply) => void {
  return (request, reply) => {
    const headers = headersFor(request)
    for (const name in headers) reply.header(name, headers[name])
  }
}

/**
 * Creates the check of an operation that ends at its sunset (`x-after-sunset: gone`); returns undefined for
 * any other. The check throws `operation_gone` from the first instant of that day in UTC.
 */
export function sunsetCheck({ id, deprecation }: Operation): (() => void) | undefined {
  const { sunset, afterSunset } = deprecation ?? {}
  if (sunset === undefined || afterSunset !== 'gone') return undefined
  return () => {
    if (Date.now() < sunset.getTime()) return
    throw ownError('operation_gone', `${id} ended on ${sunset.toISOString().slice(0, 10)}.`)
  }
}

const dayMs = 86_400_000

/**
 * Logs a warning for each operation near or past its sunset, when the server is ready and then once a day.
 */
export function addSunsetWarnings(app: FastifyInstance, contract: Contract): void {
  let timer: NodeJS.Timeout | undefined
  const warn = () => {
    const { past, soon } = sunsets(contract, Date.now())
    for (const line of [...past, ...soon]) app.log.warn(line)
  }
  app.addHook('onReady', async () => {
    warn()
    timer = setInterval(warn, dayMs).unref()
  })
  app.addHook('onClose', async () => clearInterval(timer))
}
