// Since when an operation is deprecated, when it ends, and what takes its place (RFC 9745, RFC 8594).

import type { Node, Reader } from './reader.js'
import type { Deprecation } from './types.js'

/** Without a date there is nothing that RFC 9745 could say: the mark alone is for readers. */
export function readDeprecation(reader: Reader, place: string, operation: Node): Deprecation | undefined {
  const deprecatedAt = readDate(reader, place, 'x-deprecated-at', operation)
  const sunset = readDate(reader, place, 'x-sunset', operation)
  const saysMore = operation['x-sunset'] !== undefined || operation['x-successor'] !== undefined
  if (saysMore && operation['x-deprecated-at'] === undefined)
    reader.problem(`${place} is deprecated but has no x-deprecated-at`)
  if (deprecatedAt === undefined) return undefined
  if (sunset !== undefined && sunset < deprecatedAt)
    reader.problem(`${place} has its x-sunset before its x-deprecated-at`)
  return { deprecatedAt, sunset, successor: operation['x-successor'] as string | undefined }
}

// A full-date (RFC 3339): the first instant of that day, UTC.
function readDate(reader: Reader, place: string, key: string, operation: Node): Date | undefined {
  const value = operation[key]
  if (value === undefined) return undefined
  const date = new Date(`${value}T00:00:00Z`)
  // A day that the month does not have would roll over into the next.
  if (!Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${value}T`)) return date
  reader.problem(`${place}: ${key} must be a date like 2030-12-05`)
  return undefined
}
