// References within a document: JSON Pointers (RFC 6901) in a URL fragment.

import type { Schema } from './contract.js'
import { subschemasOf } from './keywords.js'

/** The value a `$ref` points to; undefined if it does not exist or is in another file. */
export function resolvePointer(document: object, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  return pointerKeys(ref)?.reduce<unknown>(memberOf, document)
}

/** The keys of a pointer, decoded; undefined if its percent-encoding is invalid. */
export function pointerKeys(ref: string): string[] | undefined {
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
 * Whether a schema applies itself to the same value again, without end (JSON Schema Core 2020-12, section
 * 9.4.1).
 */
export function recursesInfinitely(document: object, ref: string): boolean {
  const seen = new Set<unknown>()
  const leadsBack = (schema: unknown): boolean => {
    if (typeof schema !== 'object' || schema === null || seen.has(schema)) return false
    seen.add(schema)
    const { $ref } = schema as { $ref?: unknown }
    if (typeof $ref === 'string' && ($ref === ref || leadsBack(resolvePointer(document, $ref)))) return true
    const inner = subschemasOf(schema as Schema).filter(({ appliesTo }) => appliesTo === 'value')
    return inner.some((each) => leadsBack(each.schema))
  }
  return leadsBack(resolvePointer(document, ref))
}
