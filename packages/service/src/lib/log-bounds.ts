// Bounds the texts in log lines. Texts of others, such as errors of Redis, an issuer or PostgreSQL, may have
// any length: a log line has only their beginning.

import { stdSerializers } from 'pino'
import { boundedText } from './operator-error.js'

// Limits for the items of a line, and for the causes of an error.
const itemsMax = 100
const depthMax = 5

/** Options of pino that bound the texts of each line. */
export const logBounds = {
  formatters: { log: boundedFields },
  serializers: { err: (error: Error) => bounded(stdSerializers.err(error), 0) },
}

// Does not copy a line that has only short texts, as most have. Skips objects of classes, such as requests,
// which have serializers.
function boundedFields(fields: Record<string, unknown>): Record<string, unknown> {
  let short = fields
  for (const name in fields) {
    const value = fields[name]
    if (typeof value !== 'string' && !isPlain(value)) continue
    const kept = bounded(value, 0)
    if (kept === value) continue
    if (short === fields) short = { ...fields }
    short[name] = kept
  }
  return short
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

function bounded(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return boundedText(value)
  // An object with `toJSON` is no text of others.
  if (typeof value !== 'object' || value === null || value instanceof Error || 'toJSON' in value) return value
  if (depth > depthMax) return undefined
  if (Array.isArray(value)) return value.slice(0, itemsMax).map((each) => bounded(each, depth + 1))
  return boundedObject(value as Record<string, unknown>, depth)
}

function boundedObject(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  const short: Record<string, unknown> = {}
  for (const name in fields) short[name] = bounded(fields[name], depth + 1)
  return short
}
