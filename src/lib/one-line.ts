/** A text without line breaks and other controls: the names of a document may hold any. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
