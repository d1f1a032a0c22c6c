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

/** Splits `name=value`. Without an equals sign, the value is empty. */
export function splitPair(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
}
