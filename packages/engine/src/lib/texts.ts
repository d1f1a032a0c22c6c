// Small functions on texts.

/**
 * Returns a text with its first letter in upper case, as the names of HTTP authentication schemes are
 * written.
 */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns the source of a regular expression that matches only a text. */
export function literalPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Returns the first lines, and a line that says how many more there are. */
export function firstLines(lines: readonly string[], max: number): readonly string[] {
  return lines.length <= max ? lines : [...lines.slice(0, max), `and ${lines.length - max} more`]
}

/** Returns the literal type of a text in TypeScript. */
export function quote(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  return `'${escaped.replaceAll("'", "\\'")}'`
}

/** Returns the texts of each name, in the order in which they were sent. */
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
 * Replaces line breaks, other control characters and lone surrogates by blanks. Names in a document may
 * contain them.
 */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}]+/gu, ' ')
}

/** Returns a value of a document as a message shows it. */
export function shownValue(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Says in a message what its `Retry-After` says, which many programs that show the message do not show. */
export function tryAgain(seconds: number | string): string {
  return `Try again in ${seconds} second${Number(seconds) === 1 ? '' : 's'}.`
}
