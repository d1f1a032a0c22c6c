// The position where a page begins: after the values of the order's fields in the last row of the page
// before. It stays valid when that row changes or goes, so a job that lists rows and deletes them can go on.

import type { Field } from './columns.js'

/** A field of an order. */
export interface OrderedField extends Field {
  readonly isDescending: boolean
}

/**
 * A position: the texts of all of the order's values (`values`), or of the last value alone (`row`). The row
 * must then still exist, because the others are read from it.
 */
export interface Position {
  readonly by: 'values' | 'row'
  readonly texts: readonly string[]
}

/** Returns the fields whose texts a position has. */
export function positionFields(
  order: readonly OrderedField[],
  by: Position['by'] | undefined,
): readonly OrderedField[] {
  if (by === undefined) return []
  return by === 'row' ? order.slice(-1) : order
}

/**
 * Writes the position for a link. Each text has the name of its field, so a position of another order is
 * refused.
 */
export function writePosition(order: readonly OrderedField[], texts: readonly string[]): string {
  const pairs = order.map((field, i) => [nameIn(field), texts[i]])
  return Buffer.from(JSON.stringify(pairs)).toString('base64url')
}

/** Reads a position that `writePosition` has written for this order. Returns undefined for anything else. */
export function readPosition(order: readonly OrderedField[], link: string): Position | undefined {
  const pairs = parsed(Buffer.from(link, 'base64url').toString())
  if (!Array.isArray(pairs) || pairs.length !== order.length) return undefined
  const texts = order.map((field, i) => textIn(pairs[i], nameIn(field)))
  return texts.every((text) => text !== undefined) ? { by: 'values', texts } : undefined
}

function nameIn({ name, isDescending }: OrderedField): string {
  return isDescending ? `-${name}` : name
}

function textIn(pair: unknown, name: string): string | undefined {
  const [of, text] = Array.isArray(pair) ? pair : []
  return of === name && typeof text === 'string' ? text : undefined
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
