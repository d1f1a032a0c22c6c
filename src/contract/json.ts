// Reads a JSON body without altering it: integers beyond 2^53 become bigint, and what JSON.parse would
// change without a word (the last of two values wins, digits are rounded away) is an error.

import { parse } from 'lossless-json'
import { ApiError } from '../errors.js'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON text (RFC 8259) that is encoded in UTF-8.
 * @throws {ApiError} `invalid_json`, with the place where reading stopped.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  try {
    return parse(text, undefined, { parseNumber, onDuplicateKey: refuseDuplicate })
  } catch (error) {
    if (error instanceof ApiError) throw error
    if (error instanceof RangeError) throw new ApiError('invalid_json', 'The body is nested too deeply.')
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

function refuseDuplicate({ key }: { key: string }): never {
  throw new ApiError(
    'invalid_json',
    `The body names ${JSON.stringify(key.slice(0, 64))} twice in one object.`,
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
