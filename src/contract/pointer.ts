// References within a document: JSON pointers (RFC 6901) in the fragment of a URL.

/** What a `$ref` of the document leads to; undefined where that is nothing, or in another file. */
export function lookUp(document: object, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  return keysOf(ref)?.reduce<unknown>(memberOf, document)
}

/** The keys by which a `$ref` leads through the document; undefined where it is no URL. */
export function keysOf(ref: string): string[] | undefined {
  try {
    const tokens = ref.split('/').slice(1).map(decodeURIComponent)
    return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  } catch {
    return undefined
  }
}

function memberOf(at: unknown, key: string): unknown {
  if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
  return (at as Record<string, unknown>)[key]
}

/**
 * Whether a schema that is referred to is an alternative or a condition of itself: it would be asked of one value without end (JSON
 * Schema Core 2020-12, section 9.4.1).
 */
export function isEndless(document: object, ref: string): boolean {
  const seen = new Set<unknown>()
  const leadsBack = (schema: unknown): boolean => {
    if (typeof schema !== 'object' || schema === null || seen.has(schema)) return false
    seen.add(schema)
    const { $ref } = schema as { $ref?: unknown }
    if (typeof $ref === 'string' && ($ref === ref || leadsBack(lookUp(document, $ref)))) return true
    return ofSameValue(schema).some(leadsBack)
  }
  return leadsBack(lookUp(document, ref))
}

// The schemas in one that are asked of the same value.
function ofSameValue(schema: object): unknown[] {
  const { not, if: condition, then, else: otherwise, ...several } = schema as Record<string, unknown>
  const { allOf = {}, anyOf = {}, oneOf = {}, dependentSchemas = {} } = several as Record<string, object>
  return [not, condition, then, otherwise, ...[allOf, anyOf, oneOf, dependentSchemas].flatMap(Object.values)]
}
