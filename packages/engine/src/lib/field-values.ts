// The values of header fields: their lists, their parameters and their entity tags (RFC 9110, sections 5.6
// and 8.8.3). Whoever reads one reads it here, so that no two parts of a server take a text for different
// things.

import type { IncomingHttpHeaders } from 'node:http'

/** What a value says behind its first semicolon. */
export interface Parameters {
  /** As they are written, without quotes, by their names in lower case. */
  readonly values: ReadonlyMap<string, string>
  /**
   * What is wrong with one, the worst first: it is there twice; it has a quotation mark in the wrong place,
   * so that its end is unknown; it has no name or no value, and is left out.
   */
  readonly fault: 'repeated' | 'quotes' | 'incomplete' | undefined
}

const none: Parameters = { values: new Map(), fault: undefined }
// Most requests say the same of their bodies. What is read depends on the text alone, and nobody changes it.
let last = { value: '', read: none }

/**
 * Reads the parameters of a value (section 5.6.6). Wider than its grammar where only one reading is possible:
 * blanks around the equals sign, and any character but a quotation mark in a value without quotes, such as
 * the `=` of boundaries that Java's mail writes.
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

/** Whether a text is a token (section 5.6.2). */
export function isToken(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}

/** The text of a quoted string (section 5.6.4); any other text as it is, without quotes around it. */
export function unquoted(text: string): string {
  if (!text.startsWith('"')) return text
  return isQuoted(text) ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text.replace(/^"|"$/g, '')
}

function isQuoted(text: string): boolean {
  return /^"(?:[^"\\]|\\.)*"$/s.test(text)
}

/** The elements of a list (section 5.6.1), without blanks. A comma in quotes is part of one. */
export function elementsOf(list: string): string[] {
  return splitAt(list, ',')
}

/**
 * Whether a list of entity tags, or `*`, names a strong one (section 13.1). A tag may have a comma and a
 * backslash, which escapes nothing, and no quotation mark.
 * @param isWeak whether they are compared weakly: a weak one with the same text is the same (section 8.8.3.2)
 */
export function namesTag(list: string, tag: string, isWeak: boolean): boolean {
  if (list.trim() === '*') return true
  const tags = (list.match(/(?:"[^"]*"?|[^",])+/g) ?? []).map((each) => each.trim())
  return tags.some((each) => each === tag || (isWeak && each === `W/${tag}`))
}

/** The parts between separators that are not in quotes, without blanks. */
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
 * How many bytes the body of a request has: 0 if it has none (RFC 9112, section 6.3). Undefined if it comes
 * in chunks: as many as arrive.
 */
export function bodyLength(headers: IncomingHttpHeaders): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined
}

// RFC 9110, section 5.5. Node throws at others when the response has already started, and a line break would
// begin another header wherever it is not refused.
const invalid = /[^\t\x20-\x7e\x80-\xff]/

/** The value of a header as text; undefined if it has characters that HTTP does not allow. */
export function headerText(value: unknown): string | undefined {
  const text = String(value)
  return invalid.test(text) ? undefined : text
}
