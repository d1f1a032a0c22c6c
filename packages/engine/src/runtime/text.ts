// Text bodies and form fields: decodes bytes, and converts text to the types of a schema.

import { numberFromText } from './exact-numbers.js'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Returns the text, byte for byte; undefined if it is not UTF-8, or contains NUL, which PostgreSQL cannot
 * store.
 */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    const text = decoder.decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

/** The message for bytes that `decodeText` refuses. */
export const noText = 'must be UTF-8 without NUL'

/**
 * Returns a text converted to one of the types; unchanged if it is none of them, for validation to refuse.
 */
export function convertedText(text: string, types: readonly string[] | undefined): unknown {
  if (types === undefined) return text
  if (text === '' && types.includes('null') && !types.includes('string')) return null
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return types.includes('integer') || types.includes('number') ? numberFromText(text, types) : text
}

const [quote, backslash] = [0x22, 0x5c]
// Up to this length, a loop over the characters takes less time than a regular expression.
const shortMax = 42
// Matches a quote, a backslash, a control character, or half of a surrogate pair.
const escaped = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/** Returns a text as JSON. */
export function quoted(text: string): string {
  const { length } = text
  if (length >= shortMax) return escaped.test(text) ? JSON.stringify(text) : `"${text}"`
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    const isPlain = code >= 0x20 && code !== quote && code !== backslash && (code < 0xd800 || code > 0xdfff)
    if (!isPlain) return JSON.stringify(text)
  }
  return `"${text}"`
}

// ES2024: Node 20 has the method, and the types do not. A regular expression takes seven times as long.
type Checkable = string & { isWellFormed(): boolean }

/**
 * Returns what is wrong with a text that would be sent as another one: JSON escapes a lone surrogate, and
 * other encoders write U+FFFD instead.
 */
export function utf8Fault(text: string): string | undefined {
  return (text as Checkable).isWellFormed() ? undefined : 'has a lone surrogate, which UTF-8 cannot hold'
}
