// The headers of a deprecated operation, from the dates in the contract.

import type { Contract, Operation } from '../contract/contract.js'

/**
 * `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` to the successor (RFC 8288, RFC 5829). Undefined if the operation is not
 * deprecated.
 */
export function deprecationHeaders(
  operation: Operation,
  { prefix, operations }: Pick<Contract, 'prefix' | 'operations'>,
): Readonly<Record<string, string>> | undefined {
  const { deprecation } = operation
  if (deprecation === undefined) return undefined
  const { deprecatedAt, sunset, successor } = deprecation
  const headers: Record<string, string> = { Deprecation: `@${deprecatedAt.getTime() / 1000}` }
  if (sunset !== undefined) headers.Sunset = sunset.toUTCString()
  if (successor !== undefined) {
    const path = encodeURI(decodeURI(operations.get(successor)?.path ?? '')) // a successor has no path parameters
    headers.Link = `<${prefix}${path}>; rel="successor-version"`
  }
  return headers
}
