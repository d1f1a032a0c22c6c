// Parses JSON without loss: integers beyond 2^53 become bigints. JSON.parse silently accepts duplicate names,
// and rounds other numbers; here both are errors, and so are deep nesting and characters that PostgreSQL
// cannot store. JSON.parse still builds the value, because nothing else builds it as fast and as small;
// json-text.ts reads what it would lose.

import { stringify } from 'lossless-json'
import { ownError, type RequestError } from '../document/request-error.js'
import { type JsonText, JsonTextError, readJsonText } from './json-text.js'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON text (RFC 8259) encoded in UTF-8.
 * @throws {RequestError} `invalid_json`, with the position of the error
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  const read = scannedText(text)
  const { integers } = read
  const value: unknown = JSON.parse(integers.length === 0 ? text : withMarks(text, read))
  if (read.names === 0 && integers.length === 0) return value
  const parts: Parts = { names: 0, integers }
  const exact = finished(value, parts)
  if (parts.names < read.names) throw duplicate(text)
  return exact
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw ownError('invalid_json', 'The body is not valid UTF-8.')
  }
}

function scannedText(text: string): JsonText {
  try {
    return readJsonText(text)
  } catch (error) {
    if (error instanceof JsonTextError) throw ownError('invalid_json', error.message)
    throw error
  }
}

// Replaces each integer that JSON.parse would round by a marked string. The string begins with NUL, which no
// other string may contain.
function withMarks(text: string, { integers }: JsonText): string {
  const pieces: string[] = []
  let from = 0
  for (const [i, { start, end }] of integers.entries()) {
    pieces.push(text.slice(from, start), `"\\u0000${i}"`)
    from = end
  }
  pieces.push(text.slice(from))
  return pieces.join('')
}

interface Parts extends Pick<JsonText, 'integers'> {
  /** The names counted in the value. JSON.parse keeps one of each. */
  names: number
}

// Puts the integers into a value, and counts its names.
function finished(value: unknown, parts: Parts): unknown {
  if (typeof value === 'string' && value.charCodeAt(0) === 0)
    return parts.integers[Number(value.slice(1))]?.value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) finishMember(value, i, parts)
    return value
  }
  const names = Object.keys(value)
  parts.names += names.length
  for (const name of names) finishMember(value as Record<string, unknown>, name, parts)
  return value
}

function finishMember<Key extends string | number>(
  container: Record<Key, unknown>,
  key: Key,
  parts: Parts,
): void {
  const value = container[key]
  if (typeof value !== 'object' && typeof value !== 'string') return
  const exact = finished(value, parts)
  if (exact !== value) container[key] = exact
}

// Returns the error for a text with the same name twice in one object.
function duplicate(text: string): RequestError {
  const names = new Set<string>()
  let found = '""'
  readJsonText(text, (written, object) => {
    // parsed: a name may be written with escapes
    const own = `${object}:${JSON.stringify(JSON.parse(written))}`
    if (found === '""' && names.has(own)) found = written
    names.add(own)
  })
  const name = JSON.stringify((JSON.parse(found) as string).slice(0, 64))
  return ownError('invalid_json', `The body has the name ${name} twice in one object.`)
}

// Below: what the printed writers (print-writers.ts) call. They write values that were judged.

/** Returns the JSON of any value, with bigints as numbers; undefined for a value that JSON does not have. */
export const json: (value: unknown) => string | undefined = stringify

/**
 * True if JSON.stringify writes a copy faster than a writer joins its text, as in V8 14 (Node 25) and later.
 */
export const hasFastStringify = Number.parseInt(process.versions.v8, 10) >= 14

/** Returns a number, or a bigint as a number; undefined for a bigint beyond 2^53, or any other value. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value !== 'bigint') return typeof value === 'number' ? value : undefined
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : undefined
}

/** Writes the fields of an object beyond the declared ones, each with a comma before it. */
export function others(object: Readonly<Record<string, unknown>>, declared: ReadonlySet<string>): string {
  let text = ''
  for (const name of Object.keys(object)) {
    const own = declared.has(name) ? undefined : json(object[name])
    if (own !== undefined) text += `,${JSON.stringify(name)}:${own}`
  }
  return text
}
