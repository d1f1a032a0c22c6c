// A merge patch (RFC 7396) of what a column of JSON stores: objects are merged to any depth, null removes a
// name, and anything else replaces what is there. PostgreSQL merges while the row is locked: a client that
// changes one name of a map keeps the names that another adds at the same time.

import { RequestError } from 'contract-engine'
import { LosslessNumber, parse, stringify } from 'lossless-json'

// Each merge may add as much as a body has: a map that no `maxProperties` bounds would grow without an end.
const bytesMax = 1_048_576

type Names = Readonly<Record<string, unknown>>

/**
 * The JSON of what a patch makes of what is stored. What the patch does not name keeps its text: each digit
 * of a number, and the order of names. It has no more levels than the deeper of both.
 * @param stored JSON; null if there is nothing
 * @throws {RequestError} `invalid_request` if it has grown beyond 1 MiB
 */
export function mergedJson(name: string, stored: string | null, patch: unknown): string {
  const before = stored === null ? undefined : readExactly(stored)
  const text = stringify(merged(before, patch)) as string // of an object
  const bytes = Buffer.byteLength(text)
  if (bytes > bytesMax && bytes > Buffer.byteLength(stored ?? ''))
    throw refusedField(name, `would be longer than ${bytesMax} bytes`)
  return text
}

/** The error of a field of a body. */
export function refusedField(name: string, detail: string): RequestError {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const violations = [{ in: 'body' as const, pointer, detail }]
  return new RequestError('invalid_request', `body.${name} ${detail}`, { violations })
}

// A name that is there twice, which `json` keeps, has its last value, as JSON.parse has it.
function readExactly(json: string): unknown {
  return parse(json, undefined, { onDuplicateKey: ({ newValue }) => newValue })
}

// RFC 7396, section 2. Of `Object.entries`, because `__proto__` may be a name.
function merged(stored: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const names = new Map(isObject(stored) ? Object.entries(stored) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) names.delete(name)
    else if (value !== undefined) names.set(name, merged(names.get(name), value))
  }
  return Object.fromEntries(names)
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is Names {
  if (typeof value !== 'object' || value === null) return false
  return !Array.isArray(value) && !(value instanceof LosslessNumber)
}
