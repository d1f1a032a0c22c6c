// Reads the values of header fields: their lists, their parameters and their entity tags (RFC 9110, sections
// 5.6 and 8.8.3). Every part of a server reads them here, so that no two parts read a text differently.

import type { IncomingHttpHeaders } from 'node:http'

/** The parameters of a value, which follow its first semicolon. */
export interface Parameters {
  /** The values as they are written, without quotes, by their names in lower case. */
  readonly values: ReadonlyMap<string, string>
  /**
   * The worst fault of the parameters, in this order: one occurs twice; one has a quotation mark in the wrong
   * place, so that its end is unknown; one has no name or no value, and is left out.
   */
  readonly fault: 'repeated' | 'quotes' | 'incomplete' | undefined
}

const none: Parameters = { values: new Map(), fault: undefined }
// Most requests have the same value as the one before. The result depends on the text alone, and no caller
// changes it.
let last = { value: '', read: none }

/**
 * Reads the parameters of a value (section 5.6.6). It accepts more than the grammar where only one reading is
 * possible: blanks around the equals sign, and any character but a quotation mark in a value without quotes,
 * such as the `=` in boundaries of Java's mail.
 */
export function readParameters(value: string): Parameters {
  if (!value.includes(';')) return none
  if (value !== last.value) last = { value, read: parametersIn(value) }
  return last.read
}

function parametersIn(value: string): Parameters {
  const values = new Map<string, string>()
  const faults = new Set<Parameters['fault']>()
  for (const part of splitAt(value, ';').slice(1)) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = part.slice(0, Math.max(at, 0)).trim().toLowerCase()
    const text = part.slice(at + 1).trim()
    if (part.includes('"') && !(isToken(name) && isQuoted(text))) faults.add('quotes')
    if (!isToken(name) || text === '') faults.add('incomplete')
    else if (values.has(name)) faults.add('repeated')
    else values.set(name, unquoted(text))
  }
  const fault = (['repeated', 'quotes', 'incomplete'] as const).find((each) => faults.has(each))
  return { values, fault }
}

/** True if a text is a token (section 5.6.2). */
export function isToken(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}

/** Returns the text of a quoted string (section 5.6.4); any other text as it is, without quotes around it. */
export function unquoted(text: string): string {
  if (!text.startsWith('"')) return text
  return isQuoted(text) ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text.replace(/^"|"$/g, '')
}

function isQuoted(text: string): boolean {
  return /^"(?:[^"\\]|\\.)*"$/s.test(text)
}

/**
 * Returns the elements of a list (section 5.6.1), without the blanks around them. A comma in quotes belongs
 * to its element.
 */
export function elementsOf(list: string): string[] {
  return splitAt(list, ',')
}

/**
 * True if a list of entity tags, or `*`, names a strong tag (section 13.1). A tag may contain a comma, and a
 * backslash, which escapes nothing, but no quotation mark.
 * @param isWeak true to compare weakly: a weak tag with the same text is equal (section 8.8.3.2)
 */
export function namesTag(list: string, tag: string, isWeak: boolean): boolean {
  if (list.trim() === '*') return true
  const tags = (list.match(/(?:"[^"]*"?|[^",])+/g) ?? []).map((each) => each.trim())
  return tags.some((each) => each === tag || (isWeak && each === `W/${tag}`))
}

/** Returns the parts between separators outside of quotes, without the blanks around them. */
export function splitAt(text: string, separator: ',' | ';'): string[] {
  if (!text.includes('"')) return text.split(separator).map((each) => each.trim())
  const parts: string[] = []
  let [start, isInQuotes] = [0, false]
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (isInQuotes && character === '\\') i++
    else if (character === '"') isInQuotes = !isInQuotes
    else if (character === separator && !isInQuotes) {
      parts.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  return [...parts, text.slice(start).trim()]
}

/**
 * Returns how many bytes the body of a request has: 0 if it has none (RFC 9112, section 6.3). Undefined if it
 * is chunked, and so has as many bytes as arrive.
 */
export function bodyLength(headers: IncomingHttpHeaders): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined
}

// RFC 9110, section 5.5. Node throws at other characters, but only once the response has started. A line
// break that is not refused would begin another header.
const invalid = /[^\t\x20-\x7e\x80-\xff]/

/** Returns the value of a header as text; undefined if it has characters that HTTP does not allow. */
export function headerText(value: unknown): string | undefined {
  const text = String(value)
  return invalid.test(text) ? undefined : text
}
