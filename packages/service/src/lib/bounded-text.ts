const textMax = 4_096

/** A text for a message, or its beginning and its length: what others say may be of any length. */
export function boundedText(text: string): string {
  if (text.length <= textMax) return text
  return `${text.slice(0, textMax)}… (${text.length.toLocaleString('en')} characters)`
}
