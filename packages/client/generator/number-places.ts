// Finds where the values of schemas have int64 and other numbers. From this, the client reads each number as
// its type says, and refuses a number that it would round. The places of subschemas are the engine's.

import { isBig } from 'contract-engine/lib/exact-number'
import {
  type AnySchema,
  createSchemaAt,
  nodeOf,
  patternSource,
  refOf,
  type Schema,
  subschemasOf,
} from 'contract-engine/tools'
import type { Place, Places } from '../src/index.js'

/** A place before it is known which `$ref`s lead to a number. */
type Raw = Place | null | undefined

/** Reads the schemas of a document, each `$ref` once. */
export class NumberPlaces {
  readonly #raw = new Map<string, Raw>()
  readonly #leading = new Set<string>()
  readonly #schemaAt: (ref: string) => AnySchema

  constructor(document: object) {
    this.#schemaAt = createSchemaAt(document)
  }

  /** The places of the schemas read so far that have numbers, by `$ref`. */
  get schemas(): readonly (readonly [ref: string, place: Place])[] {
    return [...this.#leading].sort().flatMap((ref) => {
      const place = this.#pruned(this.#raw.get(ref))
      return place === undefined ? [] : [[ref, place] as const]
    })
  }

  /** Returns the place of a schema; undefined for one without numbers, to keep the table small. */
  of(schema: unknown): Place | undefined {
    const read = new Set<string>()
    const place = this.#read(schema, read)
    // A Set also iterates over what is added meanwhile. This does not recurse, because a chain of references
    // may have any length.
    for (const ref of read) {
      if (this.#raw.has(ref)) continue
      this.#raw.set(ref, this.#read(this.#schemaAt(ref), read))
    }
    this.#findLeading([...read].reverse())
    return this.#pruned(place)
  }

  // Schemas may refer to each other in circles, so this repeats until no further schema leads to a number.
  #findLeading(refs: readonly string[]): void {
    const before = this.#leading.size
    for (const ref of refs) if (this.#leads(this.#raw.get(ref))) this.#leading.add(ref)
    if (this.#leading.size > before) this.#findLeading(refs)
  }

  #leads(place: Raw): boolean {
    if (place === undefined || place === null) return false
    if (typeof place === 'string') return !place.startsWith('#') || this.#leading.has(place)
    const { properties = {}, patterns = {}, additional, prefix = [], items, each = [] } = place
    const inner = [...Object.values(properties), ...Object.values(patterns), additional, ...prefix, items]
    return [...inner, ...each].some((one) => this.#leads(one))
  }

  #read(value: unknown, read: Set<string>): Raw {
    if (typeof value !== 'object' || value === null) return undefined
    const schema = value as Schema
    const ref = refOf(schema)
    if (ref !== undefined) read.add(ref)
    const each = [
      ...(ref === undefined ? [] : [ref as Place]),
      ...numbersOf(schema),
      ...this.#sameValue(schema, read),
      ...this.#unevaluated(schema, read),
    ]
    const members = this.#members(schema, read)
    const [only] = each
    return Object.keys(members).length === 0 && each.length < 2 ? only : { ...members, ...placesOf({ each }) }
  }

  // A condition only decides which other schemas apply, and describes no value itself.
  #sameValue(schema: Schema, read: Set<string>): Place[] {
    const parts = subschemasOf(schema).filter((part) => part.appliesTo === 'value' && !part.isCondition)
    return parts.flatMap((part) => this.#read(part.schema, read) ?? [])
  }

  #members(schema: Schema, read: Set<string>): Places {
    const map = (value: unknown, nameOf = (name: string): string | undefined => name) => {
      return Object.fromEntries(
        Object.entries(nodeOf(value)).flatMap(([key, each]) => {
          const name = nameOf(key)
          return name === undefined ? [] : [[name, this.#read(each, read) ?? null]]
        }),
      )
    }
    return placesOf({
      properties: map(schema.properties),
      patterns: map(schema.patternProperties, patternSource),
      additional: this.#read(schema.additionalProperties, read),
      prefix: Object.values(map(schema.prefixItems)),
      items: this.#read(schema.items, read),
    })
  }

  // Covers what no other part of the schema describes, whether that part applies or not. If it does not
  // apply, a number under one of its names is exact, but not always a bigint.
  #unevaluated(schema: Schema, read: Set<string>): Place[] {
    const { unevaluatedProperties, unevaluatedItems } = schema
    if (unevaluatedProperties === undefined && unevaluatedItems === undefined) return []
    const parts = this.#partsOf(schema)
    const known = (keyword: string) => parts.flatMap((part) => Object.keys(nodeOf(part[keyword])))
    const none = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]))
    // `contains` evaluates the items that match it, so their numbers are described by its schema.
    const contained = parts.flatMap((part) => this.#read(part.contains, read) ?? [])
    const others = [this.#read(unevaluatedItems, read) ?? [], contained].flat()
    const length = Math.max(...parts.map(({ prefixItems }) => Object.keys(nodeOf(prefixItems)).length))
    const hasItems = unevaluatedItems === undefined || parts.some(({ items }) => items !== undefined)
    return [
      placesOf({
        properties: none(known('properties')),
        patterns: none(known('patternProperties').flatMap((each) => patternSource(each) ?? [])),
        additional: this.#read(unevaluatedProperties, read),
      }),
      ...(hasItems ? [] : [placesOf({ prefix: Array(length).fill(null), items: { each: others } })]),
    ]
  }

  // Returns a schema and all schemas that may describe the same value, including the targets of references.
  #partsOf(schema: Schema): Schema[] {
    const parts = new Set<AnySchema>([schema]) // a Set also iterates over what is added meanwhile
    for (const part of parts) {
      if (typeof part !== 'object') continue
      const ref = refOf(part)
      if (ref !== undefined) parts.add(this.#schemaAt(ref))
      for (const { appliesTo, keyword, schema: each } of subschemasOf(part))
        if (appliesTo === 'value' && keyword !== 'not') parts.add(each)
    }
    return [...parts].filter((part) => typeof part === 'object')
  }

  // Removes members without numbers, unless such a member is an exception from a place for all others.
  #pruned(place: Raw): Place | undefined {
    if (place === null || place === undefined || !this.#leads(place)) return undefined
    if (typeof place === 'string') return place
    const additional = this.#pruned(place.additional)
    const items = this.#pruned(place.items)
    const map = (given: Places['properties'] = {}) => {
      const entries = Object.entries(given).map(([name, each]) => [name, this.#pruned(each) ?? null] as const)
      return Object.fromEntries(entries.filter(([, each]) => each !== null || additional !== undefined))
    }
    const prefix = (place.prefix ?? []).map((each) => this.#pruned(each) ?? null)
    const pruned = placesOf({
      properties: map(place.properties),
      patterns: map(place.patterns),
      additional,
      prefix: items === undefined && prefix.every((each) => each === null) ? [] : prefix,
      items,
      each: (place.each ?? []).flatMap((each) => this.#pruned(each) ?? []),
    })
    const [only, ...more] = pruned.each ?? []
    return only !== undefined && more.length === 0 && Object.keys(pruned).length === 1 ? only : pruned
  }
}

function numbersOf({ type, format }: Schema): Place[] {
  const types = [type].flat()
  if (types.includes('integer') && isBig(format)) return ['int64']
  return types.includes('number') ? ['number'] : []
}

type Parts = { readonly [part in keyof Places]: Places[part] | Raw }

// Returns the places without empty members.
function placesOf(parts: Parts): Places {
  const isFilled = (part: unknown) => typeof part !== 'object' || Object.keys(part ?? {}).length > 0
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined && isFilled(part)))
}
