/** A text with its first letter in upper case, as the names of HTTP authentication schemes are written. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
