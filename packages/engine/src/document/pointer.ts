// References within a document: JSON Pointers (RFC 6901) in a URL fragment.

import type { Schema } from './contract.js'
import type { Pointer } from './contract-error.js'
import { type Subschema, schemasIn } from './keywords.js'

/** Returns the value that a `$ref` points to; undefined if it does not exist or is in another file. */
export function resolvePointer(document: object, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  const at = pointerKeys(ref)
  return at && valueAt(document, at)
}

/** Returns a part of a document; undefined if it does not exist. */
export function valueAt(document: object, at: Pointer): unknown {
  return at.reduce<unknown>((value, key) => {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return isThere ? (value as Record<string, unknown>)[key] : undefined
  }, document)
}

/** Returns the keys of a pointer, decoded; undefined if its percent-encoding is invalid. */
export function pointerKeys(ref: string): string[] | undefined {
  try {
    return ref.split('/').slice(1).map(decodeURIComponent).map(unescaped)
  } catch {
    return undefined
  }
}

/** Returns the keys of a JSON Pointer that is not percent-encoded. */
export function tokensOf(pointer: string): string[] {
  return pointer.split('/').slice(1).map(unescaped)
}

function unescaped(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Returns the `$ref` to a part. */
export function pointerTo(at: Pointer): string {
  return `#/${jsonPointer(at).slice(1)}`
}

/** Returns the JSON Pointer to a part (RFC 6901). */
export function jsonPointer(at: Pointer): string {
  return at.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/**
 * Returns the references to schemas that apply themselves to the same value again, without end (JSON Schema
 * Core 2020-12, section 9.4.1).
 */
export function endlessRefs(document: object, refs: Iterable<string>): string[] {
  return circularRefs(document, refs, ({ appliesTo }) => appliesTo === 'value')
}

/**
 * Returns the references to schemas that lead back to themselves.
 * @param isEntered true if references in a subschema count; by default, they do
 */
export function circularRefs(
  document: object,
  refs: Iterable<string>,
  isEntered?: (subschema: Subschema) => boolean,
): string[] {
  const inner = new Map<string, readonly string[]>()
  const outer = new Map<string, string[]>()
  const reached = new Set(refs) // the loop also visits what is added meanwhile
  for (const ref of reached) {
    const own = refsOf(resolvePointer(document, ref), isEntered)
    inner.set(ref, own)
    for (const each of own) outer.set(each, [...(outer.get(each) ?? []), ref])
    for (const each of own) reached.add(each)
  }
  // Removes the references that lead to none, then those that lead only to removed ones. What is left is in a
  // circle, or leads to one.
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
