// Random schemas, edits of them, and values, from a seed. The domains are small, so that values often fit by
// chance.

import { schemaKeywords } from 'contract-engine/tools'

type Schema = Record<string, unknown>

/** Random choices that a seed determines (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** True with the given probability. */
  is(probability: number): boolean {
    return this.next() < probability
  }

  pick<Each>(list: readonly Each[]): Each {
    return list[this.below(list.length)] as Each
  }

  some<Each>(list: readonly Each[], probability: number): Each[] {
    return list.filter(() => this.is(probability))
  }
}

const names = ['a', 'b', 'c', 'x-d']
const texts = ['', 'a', 'ab', 'abc', 'b1']
const numbers = [-1, 0, 1, 1.5, 2, 3, 5]
const scalars = [null, true, false, ...texts, ...numbers]
const types = ['string', 'integer', 'number', 'boolean', 'null', 'array', 'object']
const patterns = ['^a', 'b', '[0-9]$']

function isFirst(value: unknown, i: number, all: readonly unknown[]): boolean {
  return all.indexOf(value) === i
}

/** Returns a random schema; `depth` bounds its nesting. */
export function randomSchema(random: Random, depth = 3): Schema {
  const type = random.pick(depth > 1 ? [...types, 'object', 'object', 'choice'] : types.slice(0, 5))
  if (random.is(0.05)) return {}
  if (type === 'choice') return choice(random, depth)
  if (random.is(0.1))
    return random.pick([
      { enum: [random.pick(scalars), ...random.some(scalars, 0.2)].filter(isFirst) },
      { const: random.pick(scalars) },
    ])
  const more = random.is(0.1) ? [random.pick(types)] : []
  const all = [...new Set([type, ...more])]
  return { type: all.length > 1 ? all : type, ...keywordsOf(random, type, depth) }
}

/** Returns a random schema that others refer to. */
export function randomPart(random: Random): Schema {
  return { type: 'object', ...objectKeywords(random, 1) }
}

function choice(random: Random, depth: number): Schema {
  const inner = () => randomSchema(random, depth - 1)
  if (random.is(0.15)) return { $ref: '#/components/schemas/Part' }
  if (random.is(0.1)) return { ...randomSchema(random, 1), not: inner() }
  const closing = random.is(0.3) && { unevaluatedProperties: false }
  const schemas = random.is(0.3) ? [inner()] : [inner(), inner()]
  return { [random.pick(['allOf', 'anyOf', 'oneOf'])]: schemas, ...closing }
}

function keywordsOf(random: Random, type: string, depth: number): Schema {
  const low = random.below(3)
  switch (type) {
    case 'string':
      return random.pick([{}, { minLength: low }, { maxLength: low }, { pattern: random.pick(patterns) }])
    case 'integer':
    case 'number':
      return random.pick([
        {},
        { minimum: low },
        { maximum: low },
        { exclusiveMinimum: low },
        { multipleOf: 2 },
      ])
    case 'array':
      return arrayKeywords(random, depth)
    case 'object':
      return objectKeywords(random, depth)
    default:
      return {}
  }
}

function arrayKeywords(random: Random, depth: number): Schema {
  const inner = () => randomSchema(random, depth - 2)
  return {
    ...(random.is(0.7) && { items: random.is(0.15) ? false : inner() }),
    // Not both: Ajv accepts an empty array beside `prefixItems`, `items` and `contains`.
    ...(random.is(0.3)
      ? { prefixItems: random.is(0.5) ? [inner()] : [inner(), inner()] }
      : random.is(0.15) && { contains: inner() }),
    ...(random.is(0.2) && { minItems: random.below(3) }),
    ...(random.is(0.2) && { maxItems: random.below(3) }),
    ...(random.is(0.1) && { uniqueItems: true }),
  }
}

function objectKeywords(random: Random, depth: number): Schema {
  const inner = () => randomSchema(random, depth - 1)
  const properties = Object.fromEntries(random.some(names, 0.5).map((name) => [name, inner()]))
  const required = random.some(Object.keys(properties), 0.3)
  return {
    properties,
    ...(required.length > 0 && { required }),
    ...(random.is(0.3) && { additionalProperties: random.is(0.7) ? false : inner() }),
    ...(random.is(0.15) && { patternProperties: { '^x-': inner() } }),
    ...(random.is(0.15) && { unevaluatedProperties: random.is(0.7) ? false : inner() }),
    ...(random.is(0.2) && { [random.pick(['allOf', 'anyOf', 'oneOf'])]: [inner(), inner()] }),
    ...(random.is(0.1) && { if: inner(), ...branches(inner) }),
    ...(random.is(0.1) && { dependentSchemas: { a: inner() } }),
    ...(random.is(0.1) && { dependentRequired: { a: ['b'] } }),
    ...(random.is(0.1) && { propertyNames: random.pick([{ maxLength: 2 }, { pattern: '^[a-c]' }]) }),
    ...(random.is(0.1) && { maxProperties: random.below(4) }),
    ...(random.is(0.1) && { minProperties: random.below(3) }),
  }
}

function branches(inner: () => Schema): Schema {
  return Object.fromEntries(['then', 'else'].map((keyword) => [keyword, inner()]))
}

/** Returns a copy of a schema with one part changed. */
export function editedSchema(random: Random, schema: Schema): Schema {
  const copy = structuredClone(schema)
  const all = partsOf(copy)
  const part = random.pick(all)
  const keys = Object.keys(part)
  const key = random.pick(keys)
  if (random.is(0.3) && key !== 'type') delete part[key]
  else if (random.is(0.3)) Object.assign(part, randomSchema(random, 1))
  else if (keys.length > 0) editKey(random, part, key)
  return copy
}

// Returns a schema and all schemas within it, but none within data.
function partsOf(schema: unknown): Schema[] {
  if (Array.isArray(schema)) return schema.flatMap(partsOf)
  if (typeof schema !== 'object' || schema === null) return []
  const inner = Object.entries(schema).flatMap(([key, value]) => {
    const holds = schemaKeywords.get(key)?.holds
    return holds === undefined ? [] : partsOf(holds === 'map' ? Object.values(value) : value)
  })
  return [schema as Schema, ...inner]
}

function editKey(random: Random, part: Schema, key: string): void {
  const value = part[key]
  if (typeof value === 'number') part[key] = Math.max(0, value + random.pick([-1, 1]))
  else if (typeof value === 'boolean') delete part[key]
  else if (Array.isArray(value)) editList(random, part, key, value)
  else if (key === 'type') part[key] = random.pick([random.pick(types), [String(value), random.pick(types)]])
  else if (key === 'pattern') part[key] = random.pick(patterns)
  else if (typeof value === 'object' && value !== null) editMap(random, value as Schema, key)
  if (Array.isArray(part.type)) part.type = [...new Set(part.type)]
}

function editList(random: Random, part: Schema, key: string, list: readonly unknown[]): void {
  const fewer = list.filter((_, i) => i !== random.below(list.length))
  const added = ['type', 'required', 'enum'].includes(key)
    ? random.pick(key === 'type' ? types : key === 'required' ? names : scalars)
    : randomSchema(random, 1)
  const more = [...list, added]
  const next = random.is(0.5) ? fewer : key === 'required' || key === 'type' ? [...new Set(more)] : more
  if (next.length > 0) part[key] = next
}

function editMap(random: Random, map: Schema, key: string): void {
  if (!['properties', 'patternProperties'].includes(key)) return
  const name = key === 'properties' ? random.pick(names) : '^x-'
  if (name in map) delete map[name]
  else map[name] = randomSchema(random, 1)
}

/** Returns a random value, which usually follows the schema. */
export function randomValue(random: Random, schema: unknown, parts: Schema, depth = 3): unknown {
  const node = (typeof schema === 'object' && schema !== null ? schema : {}) as Schema
  if (random.is(0.05)) return plainValue(random, depth)
  const within = (each: unknown) => randomValue(random, each, parts, depth - 1)
  if (node.$ref !== undefined) return randomValue(random, parts, parts, depth)
  if (Array.isArray(node.enum) && node.enum.length > 0) return random.pick(node.enum)
  if ('const' in node) return node.const
  const choices = [node.allOf, node.anyOf, node.oneOf].filter(Array.isArray)
  const chosen = choices.map((list) => within(random.pick(list)))
  const type = random.pick([node.type].flat())
  if (type === 'object')
    return Object.assign({}, ...chosen.filter(isMap), objectOf(random, node, within, depth))
  if (chosen.length > 0) return random.pick(chosen)
  if (type === 'array') return arrayOf(random, node, within)
  return plainValue(random, depth, type)
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectOf(random: Random, node: Schema, within: (schema: unknown) => unknown, depth: number): Schema {
  const properties = (node.properties ?? {}) as Schema
  const more = [node.then, node.else, (node.dependentSchemas as Schema | undefined)?.a].flatMap(
    (each) => each ?? [],
  )
  const others = more.map(within).filter(isMap)
  const required = (node.required ?? []) as string[]
  const given = names.filter((name) => required.includes(name) || random.is(name in properties ? 0.6 : 0.15))
  const fieldOf = (name: string) => {
    if (name in properties) return within(properties[name])
    const pattern = name === 'x-d' ? (node.patternProperties as Schema | undefined)?.['^x-'] : undefined
    return within(pattern ?? node.additionalProperties ?? node.unevaluatedProperties ?? {})
  }
  if (depth <= 0) return {}
  return Object.assign({}, ...others, Object.fromEntries(given.map((name) => [name, fieldOf(name)])))
}

function arrayOf(random: Random, node: Schema, within: (schema: unknown) => unknown): unknown[] {
  const prefix = (node.prefixItems ?? []) as unknown[]
  return Array.from({ length: random.below(4) }, (_, i) => within(prefix[i] ?? node.items ?? node.contains))
}

function plainValue(random: Random, depth: number, type?: unknown): unknown {
  switch (type) {
    case 'string':
      return random.pick(texts)
    case 'integer':
    case 'number':
      return random.pick(numbers)
    case 'boolean':
      return random.is(0.5)
    case 'null':
      return null
    default:
      if (depth > 0 && random.is(0.1)) return [random.pick(scalars)]
      if (depth > 0 && random.is(0.1)) return { [random.pick(names)]: random.pick(scalars) }
      return random.pick(scalars)
  }
}
