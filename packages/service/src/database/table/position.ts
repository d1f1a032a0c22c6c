// Where a page begins: behind the values of the order's fields in the last row of the page before. It holds
// whether or not that row is still there, and whatever it has become since: a job that lists rows and
// deletes them reaches the second page.

import type { Field } from './columns.js'

/** A field that rows are in the order of. */
export interface OrderedField extends Field {
  readonly isDescending: boolean
}

/**
 * A position: the text of each of the order's values; or that of the last alone, of a row that must be there
 * to know the others.
 */
export interface Position {
  readonly by: 'values' | 'row'
  readonly texts: readonly string[]
}

/** The fields whose texts a position has. */
export function positionFields(
  order: readonly OrderedField[],
  by: Position['by'] | undefined,
): readonly OrderedField[] {
  if (by === undefined) return []
  return by === 'row' ? order.slice(-1) : order
}

/** The position in a link: each text with the name of its field, so that one of another order is none. */
export function writePosition(order: readonly OrderedField[], texts: readonly string[]): string {
  const pairs = order.map((field, i) => [nameIn(field), texts[i]])
  return Buffer.from(JSON.stringify(pairs)).toString('base64url')
}

/** Reads what `writePosition` has written for an order; undefined for anything else. */
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
