// Small functions of texts.

/** A text with its first letter in upper case, as the names of HTTP authentication schemes are written. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The source of a regular expression that matches a text, and nothing else. */
export function literalPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** The first of several lines, and how many more there are. */
export function firstLines(lines: readonly string[], max: number): readonly string[] {
  return lines.length <= max ? lines : [...lines.slice(0, max), `and ${lines.length - max} more`]
}

/** A literal type of a text. */
export function quote(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  return `'${escaped.replaceAll("'", "\\'")}'`
}

/** The texts of each name, in the order in which they were sent. */
export function textsByName(
  pairs: readonly (readonly [name: string, text: string])[],
): Map<string, string[]> {
  const texts = new Map<string, string[]>()
  for (const [name, text] of pairs) {
    const others = texts.get(name)
    if (others === undefined) texts.set(name, [text])
    else others.push(text)
  }
  return texts
}

/** Splits `name=value`. Without an equals sign, the value is empty. */
export function splitPair(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
}

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

/** What a message says of its `Retry-After`, which many programs that show a message do not show. */
export function tryAgain(seconds: number | string): string {
  return `Try again in ${seconds} second${Number(seconds) === 1 ? '' : 's'}.`
}
