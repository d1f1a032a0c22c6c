// Finds what schemas evaluate of a value, for `unevaluatedProperties` and `unevaluatedItems` (JSON Schema
// Core 2020-12, section 11; evaluated-keywords.ts). Each schema that is asked notes for its value what it
// evaluates. An alternative or a condition that fails takes back its notes. So the cost is linear in the size
// of the value.

import type { Schema } from '../document/contract.js'
import { toRegExp } from '../document/patterns.js'
import { noteUndo } from './changes.js'
import { once } from './once.js'

/** What a schema evaluates of a value. */
interface Evaluated {
  readonly property: (name: string) => boolean
  /** How many items it evaluates, from the first one on; `items` has the others. */
  readonly length: number
  readonly items?: ReadonlySet<number>
}

// The notes about the values that are being judged.
const evaluated = new WeakMap<object, Evaluated[]>()

function note(value: unknown, by: Evaluated): void {
  if (typeof value !== 'object' || value === null) return
  const all = evaluated.get(value) ?? []
  evaluated.set(value, all)
  // before `push`: noteUndo throws if the steps have run out
  noteUndo(() => void all.splice(all.lastIndexOf(by), 1))
  all.push(by)
}

// `own`: what a schema evaluates without its `unevaluated…` keywords. `whole`: what it evaluates with them,
// as the schemas around it see it.
const evaluationsOf = once((schema: Schema) => {
  const { unevaluatedProperties: _, unevaluatedItems: __, ...own } = schema
  return { own: evaluatedBy(own), whole: evaluatedBy(schema) }
})

function evaluatedBy(schema: Schema): Evaluated {
  return { property: evaluatesProperty(schema), length: evaluatedLength(schema) }
}

/** Returns a function that is true of the properties that a schema itself evaluates. */
export function evaluatesProperty(schema: Schema): (name: string) => boolean {
  const { additionalProperties, unevaluatedProperties = additionalProperties } = schema
  return unevaluatedProperties === undefined ? declares(schema) : () => true
}

/** True if a schema declares a property by its name or by a pattern. */
export const declares = once(({ properties = {}, patternProperties = {} }): ((name: string) => boolean) => {
  const patterns = Object.keys(patternProperties as object).map((each) => toRegExp(each, 'u'))
  return (name) => Object.hasOwn(properties as object, name) || patterns.some((each) => each.test(name))
})

/** Returns how many items of an array a schema itself evaluates, without `contains`. */
export function evaluatedLength({ prefixItems = [], items, unevaluatedItems = items }: Schema): number {
  return unevaluatedItems === undefined
    ? (prefixItems as readonly unknown[]).length
    : Number.POSITIVE_INFINITY
}

/** Returns a function that notes what a schema evaluates of a value. */
export function createNoteEvaluated(schema: Schema): (value: unknown) => void {
  const { whole } = evaluationsOf(schema)
  return (value) => note(value, whole)
}

// Returns what was noted after the note of the schema itself: by schemas that it applies to the same value.
function evaluatedIn(schema: Schema, value: object): Evaluated[] {
  const { own, whole } = evaluationsOf(schema)
  const all = evaluated.get(value) ?? []
  return [own, ...all.slice(all.lastIndexOf(whole) + 1)]
}

/** Returns a function that lists the unevaluated properties of an object. */
export function createOtherProperties(schema: Schema): (value: object) => string[] {
  return (value) => {
    const by = evaluatedIn(schema, value)
    return Object.keys(value).filter((name) => !by.some(({ property }) => property(name)))
  }
}

/** Returns a function that lists the indexes of the unevaluated items of an array. */
export function createOtherItems(schema: Schema): (value: readonly unknown[]) => number[] {
  return (value) => {
    const by = evaluatedIn(schema, value)
    const others: number[] = []
    for (let i = Math.max(...by.map(({ length }) => length)); i < value.length; i++)
      if (!by.some(({ items }) => items?.has(i))) others.push(i)
    return others
  }
}

/** Makes a note for the items that a `contains` evaluates, and returns their Set for the caller to fill. */
export function noteMatching(value: readonly unknown[]): Set<number> {
  const items = new Set<number>()
  note(value, { property: () => false, length: 0, items })
  return items
}
