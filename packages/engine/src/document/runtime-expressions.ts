// Runtime expressions: the URL of a callback, from values of the request that asked for it (OpenAPI 3.1.1,
// section 4.8.19, Callback Object, and section 4.8.20.4).

/** A part of a URL: literal text, or a value of the request. */
export type UrlPart =
  | { readonly text: string }
  | {
      readonly in: 'path' | 'query' | 'header' | 'body'
      /** A name; for the body a JSON Pointer, empty for the whole body. */
      readonly at: string
    }

const source = /^\$request\.(?:(path|query)\.(.+)|(header)\.([\w!#$%&'*+.^`|~-]+)|(body)(?:#(|\/.*))?)$/

/**
 * Returns the parts of a callback's URL from its key: an expression, or text with expressions in braces.
 * Undefined if an expression is invalid, or is not about the request.
 */
export function readUrl(key: string): readonly UrlPart[] | undefined {
  const texts = key.startsWith('$') ? ['', key, ''] : key.split(/\{([^{}]*)\}/)
  const parts = texts.map((text, i) => (i % 2 === 0 ? { text } : readExpression(text)))
  if (texts.some((text, i) => i % 2 === 0 && /[{}]/.test(text))) return undefined
  const known = parts.filter((part) => part !== undefined)
  return known.length < parts.length
    ? undefined
    : known.filter((part) => !('text' in part) || part.text !== '')
}

function readExpression(expression: string): UrlPart | undefined {
  const [, location, name, header, field, body, pointer = ''] = source.exec(expression) ?? []
  if (location !== undefined) return { in: location as 'path' | 'query', at: name ?? '' }
  if (header !== undefined) return { in: 'header', at: (field ?? '').toLowerCase() }
  return body === undefined ? undefined : { in: 'body', at: pointer }
}
