// References within a document: JSON Pointers (RFC 6901) in a URL fragment.

import type { Schema } from './contract.js'
import type { Pointer } from './contract-error.js'
import { type Subschema, schemasIn } from './keywords.js'

/** The value a `$ref` points to; undefined if it does not exist or is in another file. */
export function resolvePointer(document: object, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  const at = pointerKeys(ref)
  return at && valueAt(document, at)
}

/** A part of a document; undefined if it does not exist. */
export function valueAt(document: object, at: Pointer): unknown {
  return at.reduce<unknown>((value, key) => {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return isThere ? (value as Record<string, unknown>)[key] : undefined
  }, document)
}

/** The keys of a pointer, decoded; undefined if its percent-encoding is invalid. */
export function pointerKeys(ref: string): string[] | undefined {
  try {
    return ref.split('/').slice(1).map(decodeURIComponent).map(unescaped)
  } catch {
    return undefined
  }
}

/** The keys of a JSON Pointer that is not percent-encoded. */
export function tokensOf(pointer: string): string[] {
  return pointer.split('/').slice(1).map(unescaped)
}

function unescaped(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The `$ref` to a part. */
export function pointerTo(at: Pointer): string {
  return `#/${jsonPointer(at).slice(1)}`
}

/** The JSON Pointer to a part (RFC 6901). */
export function jsonPointer(at: Pointer): string {
  return at.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/**
 * The references to schemas that apply themselves to the same value again, without end (JSON Schema Core
 * 2020-12, section 9.4.1).
 */
export function endlessRefs(document: object, refs: Iterable<string>): string[] {
  return circularRefs(document, refs, ({ appliesTo }) => appliesTo === 'value')
}

/**
 * The references to schemas that lead back to themselves.
 * @param isEntered whether to go into a subschema; by default into each
 */
export function circularRefs(
  document: object,
  refs: Iterable<string>,
  isEntered?: (subschema: Subschema) => boolean,
): string[] {
  const inner = new Map<string, readonly string[]>()
  const outer = new Map<string, string[]>()
  const reached = new Set(refs) // a Set iterates over what is added meanwhile, too
  for (const ref of reached) {
    const own = refsOf(resolvePointer(document, ref), isEntered)
    inner.set(ref, own)
    for (const each of own) outer.set(each, [...(outer.get(each) ?? []), ref])
    for (const each of own) reached.add(each)
  }
  // Those that lead to none, then those that lead to these alone: what is left is, or leads to, a circle.
  const ended = [...reached].filter((ref) => inner.get(ref)?.length === 0)
  const isLeft = new Map([...inner].map(([ref, own]) => [ref, own.length]))
  for (const ref of ended) {
    isLeft.delete(ref)
    for (const each of outer.get(ref) ?? []) {
      const others = (isLeft.get(each) ?? 0) - 1
      isLeft.set(each, others)
      if (others === 0) ended.push(each)
    }
  }
  return [...isLeft.keys()].filter((ref) => leadsBack(ref, inner))
}

function refsOf(schema: unknown, isEntered?: (subschema: Subschema) => boolean): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const parts = schemasIn(schema as Schema, isEntered)
  return [...new Set(parts.flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : [])))]
}

function leadsBack(ref: string, inner: ReadonlyMap<string, readonly string[]>): boolean {
  const reached = new Set(inner.get(ref))
  for (const each of reached) for (const next of inner.get(each) ?? []) reached.add(next)
  return reached.has(ref)
}
