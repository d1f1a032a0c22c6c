// Finds the numbers in a value by the places of the table: while a value is walked, gives the places of its
// members.

import type { ClientTable, Place, Places } from './table.js'

type Schemas = ClientTable['schemas']

/** Returns the kinds of a number at these places; none if no schema describes it. */
export function kindsAt(places: readonly Place[], schemas: Schemas): readonly ('int64' | 'number')[] {
  return resolved(places, schemas).filter((place) => place === 'int64' || place === 'number')
}

/** Returns a function that returns the places of an object's properties. */
export function propertiesAt(places: readonly Place[], schemas: Schemas): (name: string) => Place[] {
  const nested = nestedIn(places, schemas)
  return (name) => nested.flatMap((each) => ofProperty(each, name))
}

/** Returns a function that returns the places of an array's elements. */
export function elementsAt(places: readonly Place[], schemas: Schemas): (index: number) => Place[] {
  const nested = nestedIn(places, schemas)
  return (index) =>
    nested.flatMap(({ prefix = [], items }) => (index < prefix.length ? prefix[index] : items) ?? [])
}

function nestedIn(places: readonly Place[], schemas: Schemas): Places[] {
  return resolved(places, schemas).filter((place) => typeof place === 'object')
}

// Returns these places with the targets of references, and the alternatives. A Set also iterates over what is
// added meanwhile.
function resolved(places: readonly Place[], schemas: Schemas): Place[] {
  const reached = new Set(places)
  for (const place of reached) {
    const target = typeof place === 'string' && place.startsWith('#') ? schemas[place] : undefined
    if (target !== undefined) reached.add(target)
    if (typeof place === 'object') for (const each of place.each ?? []) reached.add(each)
  }
  return [...reached]
}

function ofProperty({ properties = {}, patterns = {}, additional }: Places, name: string): Place[] {
  const own = Object.hasOwn(properties, name) ? [properties[name]] : []
  const matching = Object.entries(patterns).filter(([pattern]) => regExpOf(pattern).test(name))
  const declared = [...own, ...matching.map(([, place]) => place)]
  return (declared.length > 0 ? declared : [additional]).flatMap((place) => place ?? [])
}

const regExps = new Map<string, RegExp>() // at most as many as the table has

// Reads patterns as the server does: a pattern that is invalid with the flag `u` is read without it.
function regExpOf(pattern: string): RegExp {
  const known = regExps.get(pattern)
  if (known !== undefined) return known
  const made = withFlag(pattern) ?? new RegExp(pattern)
  regExps.set(pattern, made)
  return made
}

function withFlag(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
}
