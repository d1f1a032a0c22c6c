/**
 * Replaces line breaks, other control characters and lone surrogates, which names in a document may contain.
 */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}]+/gu, ' ')
}

/** A value of a document as a message shows it. */
export function shownValue(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
