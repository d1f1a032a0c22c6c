// What schemas evaluate of a value, for `unevaluatedProperties` and `unevaluatedItems` (JSON Schema Core
// 2020-12, section 11; evaluated-keywords.ts): each schema that is asked notes for its value what it
// evaluates; an alternative or condition that fails takes that back. So the cost is linear in the value.

import type { Schema } from '../document/contract.js'
import { toRegExp } from '../document/patterns.js'
import { noteUndo } from './changes.js'
import { once } from './once.js'

/** What a schema evaluates of a value. */
interface Evaluated {
  readonly property: (name: string) => boolean
  /** How many items it evaluates, from the first one on, and which others. */
  readonly length: number
  readonly items?: ReadonlySet<number>
}

// Of the values that are being judged.
const evaluated = new WeakMap<object, Evaluated[]>()

function note(value: unknown, by: Evaluated): void {
  if (typeof value !== 'object' || value === null) return
  const all = evaluated.get(value) ?? []
  evaluated.set(value, all)
  noteUndo(() => void all.splice(all.lastIndexOf(by), 1)) // which throws if the steps end
  all.push(by)
}

// What a schema evaluates by its own keywords, and with what it asks for, which is what schemas around it
// see.
const evaluationsOf = once((schema: Schema) => {
  const { unevaluatedProperties: _, unevaluatedItems: __, ...own } = schema
  return { own: evaluatedBy(own), whole: evaluatedBy(schema) }
})

function evaluatedBy(schema: Schema): Evaluated {
  return { property: evaluatesProperty(schema), length: evaluatedLength(schema) }
}

/** Whether a schema evaluates a property, by itself. */
export function evaluatesProperty(schema: Schema): (name: string) => boolean {
  const { additionalProperties, unevaluatedProperties = additionalProperties } = schema
  return unevaluatedProperties === undefined ? declares(schema) : () => true
}

/** Whether a schema has a property, or a pattern for its name. */
export const declares = once(({ properties = {}, patternProperties = {} }): ((name: string) => boolean) => {
  const patterns = Object.keys(patternProperties as object).map((each) => toRegExp(each, 'u'))
  return (name) => Object.hasOwn(properties as object, name) || patterns.some((each) => each.test(name))
})

/** How many items of an array a schema evaluates, by itself and without `contains`. */
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

// What has been noted since the schema itself, by those it applies to the same value.
function evaluatedIn(schema: Schema, value: object): Evaluated[] {
  const { own, whole } = evaluationsOf(schema)
  const all = evaluated.get(value) ?? []
  return [own, ...all.slice(all.lastIndexOf(whole) + 1)]
}

/** Returns a function of an object: the names of its properties that nothing evaluates. */
export function createOtherProperties(schema: Schema): (value: object) => string[] {
  return (value) => {
    const by = evaluatedIn(schema, value)
    return Object.keys(value).filter((name) => !by.some(({ property }) => property(name)))
  }
}

/** Returns a function of an array: the indexes of its items that nothing evaluates. */
export function createOtherItems(schema: Schema): (value: readonly unknown[]) => number[] {
  return (value) => {
    const by = evaluatedIn(schema, value)
    const others: number[] = []
    for (let i = Math.max(...by.map(({ length }) => length)); i < value.length; i++)
      if (!by.some(({ items }) => items?.has(i))) others.push(i)
    return others
  }
}

/** Notes the items that a `contains` evaluates, which are to be added. */
export function noteMatching(value: readonly unknown[]): Set<number> {
  const items = new Set<number>()
  note(value, { property: () => false, length: 0, items })
  return items
}
