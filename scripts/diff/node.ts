// The documents as parsed, before anything is known of their shape, and how two of them are set side by side.

import { stringify } from 'lossless-json'

/** A mapping of a document. */
export interface Node {
  readonly [key: string]: unknown
}

/** The same place in both documents; an absent one reads as empty. */
export interface Pair {
  readonly before: Node
  readonly after: Node
}

/** Whether it is a mapping. */
export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The mappings of a list; none where there is no list. */
export function nodesOf(list: unknown): readonly Node[] {
  return Array.isArray(list) ? list.filter(isNode) : []
}

/** What to do with a name that went, came or stayed. */
export type OnName<Name> = Readonly<Partial<Record<'removed' | 'added' | 'kept', (name: Name) => void>>>

/** Sorts names into those that went, came and stayed. */
export function eachName<Name>(before: Iterable<Name>, after: Iterable<Name>, on: OnName<Name>): void {
  const [was, is] = [new Set(before), new Set(after)]
  for (const name of was) (is.has(name) ? on.kept : on.removed)?.(name)
  for (const name of is) if (!was.has(name)) on.added?.(name)
}

/** As `eachName`, for the keys of two mappings. */
export function eachKey({ before, after }: Pair, on: OnName<string>): void {
  eachName(Object.keys(before), Object.keys(after), on)
}

/** A value's step in words: `maximum 100 -> 50`, `pattern ^a$ added`. */
export function step(name: string, before: unknown, after: unknown): string {
  if (before === undefined) return `${name} ${show(after)} added`
  if (after === undefined) return `${name} ${show(before)} removed`
  return `${name} ${show(before)} -> ${show(after)}`
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : toJson(value)
}

/** A value as JSON, its integers to the last digit. */
export function toJson(value: unknown): string {
  return String(stringify(value))
}
