// Deprecation of an operation: since when, its sunset, and its successor (RFC 9745, RFC 8594).

import type { Deprecation } from './contract.js'
import type { Node, Reader } from './reader.js'

/** The deprecation of an operation; undefined without `x-deprecated-at`, since RFC 9745 requires a date. */
export function readDeprecation(reader: Reader, place: string, operation: Node): Deprecation | undefined {
  const deprecatedAt = readDate(reader, place, 'x-deprecated-at', operation)
  const sunset = readDate(reader, place, 'x-sunset', operation)
  if (operation['x-deprecated-at'] === undefined) {
    const dependent = ['x-sunset', 'x-successor'].find((name) => operation[name] !== undefined)
    if (dependent !== undefined) reader.problem(`${place}: ${dependent} requires x-deprecated-at`)
  }
  if (deprecatedAt === undefined) return undefined
  if (sunset !== undefined && sunset < deprecatedAt)
    reader.problem(`${place}: x-sunset is before x-deprecated-at`)
  return { deprecatedAt, sunset, successor: operation['x-successor'] as string | undefined }
}

// A full-date (RFC 3339), read as the first instant of that day in UTC.
function readDate(reader: Reader, place: string, key: string, operation: Node): Date | undefined {
  const value = operation[key]
  if (value === undefined) return undefined
  const date = new Date(`${value}T00:00:00Z`)
  // JavaScript rolls 2031-02-30 over into March, so compare the text.
  if (!Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${value}T`)) return date
  reader.problem(`${place}: ${key} must be a date like 2030-12-05`)
  return undefined
}
