// Where a value has numbers, by the places of the table: as a value is walked, those of its members.

import type { ClientTable, Place, Places } from './table.js'

type Schemas = ClientTable['schemas']

/** The kinds of a number at these places: none if no schema describes it. */
export function kindsAt(places: readonly Place[], schemas: Schemas): readonly ('int64' | 'number')[] {
  return resolved(places, schemas).filter((place) => place === 'int64' || place === 'number')
}

/** The places of the properties of an object. */
export function propertiesAt(places: readonly Place[], schemas: Schemas): (name: string) => Place[] {
  const nested = nestedIn(places, schemas)
  return (name) => nested.flatMap((each) => ofProperty(each, name))
}

/** The places of the elements of an array. */
export function elementsAt(places: readonly Place[], schemas: Schemas): (index: number) => Place[] {
  const nested = nestedIn(places, schemas)
  return (index) =>
    nested.flatMap(({ prefix = [], items }) => (index < prefix.length ? prefix[index] : items) ?? [])
}

function nestedIn(places: readonly Place[], schemas: Schemas): Places[] {
  return resolved(places, schemas).filter((place) => typeof place === 'object')
}

// With the targets of references, and the alternatives. A Set iterates over what is added meanwhile, too.
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

const regExps = new Map<string, RegExp>() // no more than the table has

// As the server reads them: those that the flag `u` does not allow, without it.
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
