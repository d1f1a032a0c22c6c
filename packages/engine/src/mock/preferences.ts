// What a request prefers (RFC 7240): which response of a mock it wants to see.

/** What a request prefers of a response. */
export interface Preferences {
  /** The name of one of the contract's examples. */
  readonly example: string | undefined
  /** A status that the contract declares. */
  readonly code: number | undefined
}

const nothing: Preferences = { example: undefined, code: undefined }

/** Reads `Prefer`, whose lines Node joins. What is no preference of a mock is left to others. */
export function preferencesOf(header: string | string[] | undefined): Preferences {
  if (header === undefined) return nothing
  const values = new Map<string, string>()
  for (const each of outsideQuotes(String(header), ',')) {
    const [preference = ''] = outsideQuotes(each, ';') // without its parameters
    const [name = '', value = ''] = outsideQuotes(preference, '=').map((part) => part.trim())
    // Of a preference that is sent twice the first counts (section 2).
    if (!values.has(name.toLowerCase())) values.set(name.toLowerCase(), unquoted(value))
  }
  const code = Number(values.get('code') || NaN)
  return {
    example: values.get('example') || undefined,
    code: Number.isInteger(code) ? code : undefined,
  }
}

/** The value of `Preference-Applied` (section 3): a name that is no token is in quotes. */
export function appliedText({ example, code }: Preferences): string {
  const quoted = (text: string) => (/^[\w!#$%&'*+.^`|~-]+$/.test(text) ? text : JSON.stringify(text))
  const parts = [
    ...(code === undefined ? [] : [`code=${code}`]),
    ...(example === undefined ? [] : [`example=${quoted(example)}`]),
  ]
  return parts.join(', ')
}

// The parts between separators that are in no quoted string (RFC 9110, section 5.6.4).
function outsideQuotes(text: string, separator: string): string[] {
  const parts = ['']
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string
    if (character === '"') isQuoted = !isQuoted
    if (character === separator && !isQuoted) parts.push('')
    else parts[parts.length - 1] += character
    if (isQuoted && character === '\\') parts[parts.length - 1] += text[++i] ?? ''
  }
  return parts
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text
}
