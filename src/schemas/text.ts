// Text as it arrives, and what it may stand for.

import { numberFromText } from './exact-numbers.js'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text that bytes stand for, to the letter; undefined where they are no UTF-8, or hold NUL, which PostgreSQL cannot. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    const text = decoder.decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

/** What a text stands for, by the types that it may be of; where it is none of them, the text itself, which validation refuses. */
export function readText(text: string, types: readonly string[] | undefined): unknown {
  if (types === undefined) return text
  if (text === '' && types.includes('null') && !types.includes('string')) return null
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return types.includes('integer') || types.includes('number') ? numberFromText(text, types) : text
}
