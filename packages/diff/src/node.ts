// Parsed documents of unknown shape, and helpers to compare two of them.

import { stringify } from 'lossless-json'

/** A mapping in a document. */
export interface Node {
  readonly [key: string]: unknown
}

/** The same place in both documents; empty in a document that lacks it. */
export interface Pair {
  readonly before: Node
  readonly after: Node
}

/** True if a value is a mapping. */
export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the keys of a mapping; none for anything else. */
export function keysOf(value: unknown): string[] {
  return isNode(value) ? Object.keys(value) : []
}

/** Returns the mappings of a list; none for anything else. */
export function nodesOf(list: unknown): readonly Node[] {
  return Array.isArray(list) ? list.filter(isNode) : []
}

/** Returns a mapping from each key, in a list separated by spaces, to the same value. */
export function keyed<Value>(keys: string, value: Value): Readonly<Record<string, Value>> {
  return Object.fromEntries(keys.split(' ').map((key) => [key, value]))
}

/** Returns a mapping without the keys that the filter rejects. */
export function filtered(node: Node, isKept: (key: string, value: unknown) => boolean): Node {
  return Object.fromEntries(Object.entries(node).filter(([key, value]) => isKept(key, value)))
}

/** Functions to call for each name, by which of the two documents have it. */
type OnName<Name> = Readonly<Partial<Record<'removed' | 'added' | 'kept', (name: Name) => void>>>

/** Compares two sets of names. */
export function eachName<Name>(before: Iterable<Name>, after: Iterable<Name>, on: OnName<Name>): void {
  const [was, is] = [new Set(before), new Set(after)]
  for (const name of was) (is.has(name) ? on.kept : on.removed)?.(name)
  for (const name of is) if (!was.has(name)) on.added?.(name)
}

/** Compares the keys of two mappings. */
export function eachKey({ before, after }: Pair, on: OnName<string>): void {
  eachName(Object.keys(before), Object.keys(after), on)
}

/** Compares two maps by their keys. */
export function eachEntry<Value>(
  before: ReadonlyMap<string, Value>,
  after: ReadonlyMap<string, Value>,
  on: {
    readonly removed: (was: Value) => void
    readonly added: (is: Value) => void
    readonly kept: (was: Value, is: Value) => void
  },
): void {
  for (const [key, was] of before) {
    const is = after.get(key)
    if (is === undefined) on.removed(was)
    else on.kept(was, is)
  }
  for (const [key, is] of after) if (!before.has(key)) on.added(is)
}

/** Describes the change of a value: `maximum 100 -> 50`, `pattern ^a$ added`. */
export function describeChange(name: string, before: unknown, after: unknown): string {
  if (before === undefined) return `${name} ${show(after)} added`
  if (after === undefined) return `${name} ${show(before)} removed`
  return `${name} ${show(before)} -> ${show(after)}`
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : toJson(value)
}

/** Returns a value as JSON, with exact integers. */
export function toJson(value: unknown): string {
  return String(stringify(value))
}
