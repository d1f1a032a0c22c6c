// The headers of a deprecated operation, from the dates in the contract.

import type { Contract, Operation } from '../contract/contract.js'
import { referenceTo } from './relative-references.js'

/**
 * `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` to the successor (RFC 8288, RFC 5829). Undefined if the operation is not
 * deprecated.
 */
export function deprecationHeaders(
  operation: Operation,
  { operations }: Pick<Contract, 'operations'>,
): Readonly<Record<string, string>> | undefined {
  const { deprecation, path } = operation
  if (deprecation === undefined) return undefined
  const { deprecatedAt, sunset, successor } = deprecation
  const headers: Record<string, string> = { Deprecation: `@${deprecatedAt.getTime() / 1000}` }
  if (sunset !== undefined) headers.Sunset = sunset.toUTCString()
  const target = successor === undefined ? undefined : operations.get(successor)?.path // without parameters
  if (target !== undefined) headers.Link = `<${referenceTo(target, path)}>; rel="successor-version"`
  return headers
}
