// Text bodies and form fields: decoding bytes, and converting text to the types of a schema.

import { numberFromText } from './exact-numbers.js'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text, byte for byte; undefined if it is not UTF-8, or contains NUL, which PostgreSQL cannot store. */
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

/** A text converted to one of the types; unchanged if it is none of them, for validation to reject. */
export function readText(text: string, types: readonly string[] | undefined): unknown {
  if (types === undefined) return text
  if (text === '' && types.includes('null') && !types.includes('string')) return null
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return types.includes('integer') || types.includes('number') ? numberFromText(text, types) : text
}

// Neither a quote, nor a backslash, nor a control character, nor half of a pair.
const plain = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

/** A text as JSON. */
export function quoted(text: string): string {
  return text.length < 64 && plain.test(text) ? `"${text}"` : JSON.stringify(text)
}
