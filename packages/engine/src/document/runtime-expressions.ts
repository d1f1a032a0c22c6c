// Runtime expressions: the URL of a callback, by values of the request that asked for it (OpenAPI 3.1.1,
// section 4.8.19, Callback Object, and section 4.8.20.4).

/** A part of a URL: text as it is, or a value of the request. */
export type UrlPart =
  | { readonly text: string }
  | {
      readonly in: 'path' | 'query' | 'header' | 'body'
      /** A name; of the body a JSON Pointer, empty for all of it. */
      readonly at: string
    }

const source = /^\$request\.(?:(path|query)\.(.+)|(header)\.([\w!#$%&'*+.^`|~-]+)|(body)(?:#(|\/.*))?)$/

/**
 * The parts of the URL of a callback, by its key: an expression, or text with expressions in braces.
 * Undefined if one is not of the request, or is none.
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
