// The preferences of a request (RFC 7240): which response of a mock the client wants.

import { elementsOf, isToken, splitAt, unquoted } from '../lib/field-values.js'
import { splitPair } from '../lib/texts.js'

/** The response that a request prefers. */
export interface Preferences {
  /** The name of one of the contract's examples. */
  readonly example: string | undefined
  /** A status that the contract declares. */
  readonly code: number | undefined
}

const nothing: Preferences = { example: undefined, code: undefined }

/** Reads `Prefer`, whose lines Node joins. It ignores preferences that do not concern a mock. */
export function preferencesOf(header: string | string[] | undefined): Preferences {
  if (header === undefined) return nothing
  const values = new Map<string, string>()
  for (const each of elementsOf(String(header))) {
    const [preference = ''] = splitAt(each, ';') // without its parameters
    const [name = '', value = ''] = splitPair(preference).map((part) => part.trim())
    // If a preference is sent twice, the first counts (section 2).
    if (!values.has(name.toLowerCase())) values.set(name.toLowerCase(), unquoted(value))
  }
  const code = Number(values.get('code') || NaN)
  return {
    example: values.get('example') || undefined,
    code: Number.isInteger(code) ? code : undefined,
  }
}

/** Returns the value of `Preference-Applied` (section 3). A name that is no token is quoted. */
export function appliedText({ example, code }: Preferences): string {
  const quoted = (text: string) => (isToken(text) ? text : JSON.stringify(text))
  const parts = [
    ...(code === undefined ? [] : [`code=${code}`]),
    ...(example === undefined ? [] : [`example=${quoted(example)}`]),
  ]
  return parts.join(', ')
}
