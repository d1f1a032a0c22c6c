// What others say, such as a Redis, an issuer or PostgreSQL of a value, may be of any length: of each text a
// log line has the beginning, so that an error of 1 MB is no line of 1 MB.

import { stdSerializers } from 'pino'
import { boundedText } from './operator-error.js'

// Of what a line has, and of the causes of an error.
const itemsMax = 100
const depthMax = 5

/** Options of pino that bound the texts of each line. */
export const logBounds = {
  formatters: { log: boundedFields },
  serializers: { err: (error: Error) => bounded(stdSerializers.err(error), 0) },
}

// Most lines have short texts alone, and are left alone. Objects of classes, as requests, have serializers.
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
  // What has a form of its own in JSON is no text of others.
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
