// Reads a JSON body without altering it: integers beyond 2^53 become bigint, and what JSON.parse would
// change without a word (the last of two values wins, digits are rounded away) is an error, and so is what would cost more
// to read than it can be worth, or could not be kept.

import { parse } from 'lossless-json'
import { ApiError } from '../errors.js'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON text (RFC 8259) that is encoded in UTF-8.
 * @throws {ApiError} `invalid_json`, with the place where reading stopped.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  refuseDepth(text)
  const unaltered = parseUnaltered(text)
  const value = unaltered === undefined ? parseExactly(text) : unaltered
  refuseCharacters(text)
  return value
}

function parseExactly(text: string): unknown {
  try {
    const value = parse(text, undefined, { parseNumber, onDuplicateKey: ({ key }) => refuseDuplicate(key) })
    refuseDuplicates(text)
    return value
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('invalid_json', `The body is not valid JSON: ${(error as Error).message}.`)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new ApiError('invalid_json', 'The body is not valid UTF-8.')
  }
}

// What writes back to the same text has lost nothing, neither a name nor a digit: most bodies, for which the exact parser takes
// five times as long. A number that may be beyond 2^53 is not for it, for that one becomes a bigint.
function parseUnaltered(text: string): unknown {
  if (/\d{16}|\d[eE]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text ? value : undefined
  } catch {
    return undefined // the exact parser says why
  }
}

// Deeper than any schema will be, and far from what a stack can bear: parsing and validating are recursive.
const depthMax = 100

// Before it is parsed, so of a text that may be no JSON at all: parsing tells.
function refuseDepth(text: string): void {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '"') i = endOfString(text, i)
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    if (depth > depthMax) throw new ApiError('invalid_json', 'The body is nested too deeply.')
  }
}

// A quote ends it that an even number of backslashes stands before. By hand, for a pattern looks on from every quote of a
// string that does not end.
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i
  }
  return text.length
}

// One escape after the other, so that a backslash that is itself escaped begins none: surrogate pairs, what no text may hold,
// all others.
const escapes =
  /\\(?:u[dD][89abAB][\dA-Fa-f]{2}\\u[dD][c-fC-F][\dA-Fa-f]{2}|(u0000|u[dD][89a-fA-F][\dA-Fa-f]{2})|.)/g

// Of valid JSON, in names and values alike. PostgreSQL's text holds no NUL, and half of a surrogate pair has no UTF-8. Only
// an escape can write either, and few bodies have one.
function refuseCharacters(text: string): void {
  if (!text.includes('\\u')) return
  for (const { 1: character, index } of text.matchAll(escapes)) {
    if (character === undefined) continue
    const what = character === 'u0000' ? 'NUL' : 'half of a surrogate pair'
    throw new ApiError('invalid_json', `The body holds ${what}, \\${character}, at position ${index}.`)
  }
}

// Of valid JSON. lossless-json finds duplicates as well, but lets the same value pass twice.
function refuseDuplicates(text: string): void {
  const objects: Set<string>[] = []
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') objects.push(new Set())
    else if (token === '}') objects.pop()
    else if (name !== undefined) addName(objects.at(-1), JSON.parse(name))
  }
}

function addName(names: Set<string> | undefined, name: string): void {
  if (names?.has(name)) refuseDuplicate(name)
  names?.add(name)
}

function refuseDuplicate(name: string): never {
  throw new ApiError(
    'invalid_json',
    `The body names ${JSON.stringify(name.slice(0, 64))} twice in one object.`,
  )
}

function parseNumber(text: string): number | bigint {
  const value = Number(text)
  if (!Number.isInteger(value)) return finite(text, value)
  const exact = exactInteger(text)
  if (exact === undefined) {
    throw new ApiError(
      'invalid_json',
      `The body holds a number that cannot be kept exactly: ${text.slice(0, 64)}.`,
    )
  }
  return Number.isSafeInteger(value) ? value : exact
}

function finite(text: string, value: number): number {
  if (Number.isFinite(value)) return value
  throw new ApiError('invalid_json', `The body holds a number that is too large: ${text.slice(0, 64)}.`)
}

// The integer that a JSON number stands for (`1200`, `1.2e3`), or undefined where it has a fraction that
// only rounding would take away.
function exactInteger(text: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = whole + fraction
  if (/^0*$/.test(digits)) return 0n
  const shift = Number(exponent) - fraction.length
  if (shift >= 0) return BigInt(`${sign}${digits}${'0'.repeat(shift)}`)
  if (/[^0]/.test(digits.slice(shift))) return undefined
  return BigInt(`${sign}${digits.slice(0, shift) || '0'}`)
}
