/** Replaces line breaks and other control characters, which names in a document may contain. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
