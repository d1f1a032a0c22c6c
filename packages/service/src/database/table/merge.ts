// Applies a merge patch (RFC 7396) to the value of a JSON column while the row is locked: merges objects to
// any depth, removes names whose patch is null, and replaces everything else. Without the merge, a patch of
// one name would remove the others, or those that another client adds at the same time.

import { RequestError } from 'contract-engine'
import { LosslessNumber, parse, stringify } from 'lossless-json'

// Each merge may add as much as a body holds: without this limit, a map without `maxProperties` could grow
// for ever.
const bytesMax = 1_048_576

type Names = Readonly<Record<string, unknown>>

/**
 * Returns the JSON of the stored value after the patch. Parts that the patch does not name keep their text:
 * each digit of a number, and the order of names. The result is no deeper than the deeper of both.
 * @param stored JSON, or null if nothing is stored
 * @throws {RequestError} `invalid_request` if the value has grown beyond 1 MiB
 */
export function mergedJson(name: string, stored: string | null, patch: unknown): string {
  const before = stored === null ? undefined : readExactly(stored)
  const text = stringify(merged(before, patch)) as string // never undefined for an object
  const bytes = Buffer.byteLength(text)
  if (bytes > bytesMax && bytes > Buffer.byteLength(stored ?? ''))
    throw refusedField(name, `would be longer than ${bytesMax} bytes`)
  return text
}

/** Returns the error for a field of the body. */
export function refusedField(name: string, detail: string): RequestError {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const violations = [{ in: 'body' as const, pointer, detail }]
  return new RequestError('invalid_request', `body.${name} ${detail}`, { violations })
}

// `json` keeps a name that occurs twice. The last value counts, as in JSON.parse.
function readExactly(json: string): unknown {
  return parse(json, undefined, { onDuplicateKey: ({ newValue }) => newValue })
}

// RFC 7396, section 2. Uses entries, because `__proto__` may be a name.
function merged(stored: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const names = new Map(isObject(stored) ? Object.entries(stored) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) names.delete(name)
    else if (value !== undefined) names.set(name, merged(names.get(name), value))
  }
  return Object.fromEntries(names)
}

/** True if a value is an object of JSON. */
export function isObject(value: unknown): value is Names {
  if (typeof value !== 'object' || value === null) return false
  return !Array.isArray(value) && !(value instanceof LosslessNumber)
}
