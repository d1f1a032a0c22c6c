// Generates values of a schema, the most telling first: with the contract's own examples and every field, and
// then with less. The same schema has the same values in the same order. The caller takes the first value
// that its validator accepts.

import { type AnySchema, composingKeywords, keywordTypes } from '../../document/keywords.js'
import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { flatParts } from './flat-schema.js'
import { numberBy } from './numbers.js'
import { fitsScalar, greatest, least, matches, textBy } from './scalars.js'

/** True if a value is valid by a schema, which is compiled for the call. */
export type Accepts = (schema: AnySchema, value: unknown) => boolean

export interface ValueParts {
  readonly reader: Reader
  readonly accepts: Accepts
  /**
   * A value for a request has only what is required. A value for a response has everything except what only
   * requests have.
   */
  readonly isOfRequest?: boolean
}

/** Returns a short value for a request, without validating it; undefined if the schema allows none. */
export function requestValue(schema: unknown, reader: Reader): unknown {
  return new Draft({ reader, accepts: () => true, isOfRequest: true }, 0).value([schema], 0, 0)
}

const draftsMax = 60

/**
 * Yields drafts of a value.
 * @param turn the index of an item in a list: chooses another alternative, another number
 */
export function* valuesOf(schema: unknown, parts: ValueParts, turn = 0): Generator<unknown> {
  for (let i = 0, steps = 0; i < draftsMax && steps < allStepsMax; i++) {
    const draft = new Draft(parts, i)
    const value = draft.value([schema], 0, turn)
    if (value !== undefined) yield value
    steps += draft.steps
  }
}

// Deeper than `depthMax`, or beyond `valuesMax` values, a draft leaves out what is not required.
const depthMax = 5
const endMax = 30
const valuesMax = 2_000
// A schema that contains itself many times would have more values than can be made.
const stepsMax = 5_000
// For all drafts together: a schema that is too large for some of them is so for the others.
const allStepsMax = 10_000

/** One attempt at a value. Undefined means that the schema allows none. */
class Draft {
  readonly #reader: Reader
  readonly #accepts: Accepts
  readonly #isOfRequest: boolean
  readonly #number: number
  #state: number
  #count = 0
  // The index of the item that is being made, if the items of its list must differ: then values within the
  // item differ, too.
  #distinct: number | undefined

  constructor({ reader, accepts, isOfRequest = false }: ValueParts, number: number) {
    this.#reader = reader
    this.#accepts = accepts
    this.#isOfRequest = isOfRequest
    this.#number = number
    this.#state = number
  }

  /** How many values the draft has tried to make. */
  get steps(): number {
    return this.#count
  }

  // The first draft takes all examples, the next ones only those of scalars, later ones none. Which fields
  // and alternatives a draft takes varies by its number.
  get #takesExamples(): 'all' | 'scalars' | 'none' {
    return this.#number === 0 ? 'all' : this.#number < 6 ? 'scalars' : 'none'
  }

  get #isSparse(): boolean {
    return this.#number % 3 === 1
  }

  get #isExact(): boolean {
    return this.#number >= 2
  }

  #choose = (ways: number): number => {
    if (this.#number < 2 || ways < 2) return 0
    this.#state = (this.#state * 1103515245 + 12345) % 2 ** 31
    return Math.floor((this.#state / 2 ** 31) * ways)
  }

  value(schemas: readonly unknown[], depth: number, turn: number): unknown {
    this.#count++
    const end = this.#isOfRequest ? depthMax : endMax // such a value is read by people, so it is short
    if (depth > end || this.#count > stepsMax) return undefined
    const [schema] = schemas
    const isChecked = this.#isExact && schemas.length === 1 && isComposed(schema)
    for (let way = 0; way < (isChecked ? waysMax : 1); way++) {
      const value = this.#valueBy(schemas, depth, turn + way)
      if (!isChecked || (value !== undefined && this.#accepts(schema as AnySchema, value))) return value
    }
    return this.#valueBy(schemas, depth, turn)
  }

  #valueBy(schemas: readonly unknown[], depth: number, turn: number): unknown {
    const parts = flatParts(schemas, this.#reader, (ways) => this.#wayOf(ways, depth, turn))
    if (parts === undefined) return undefined
    const types = typesOfParts(parts)
    const given = this.#given(parts, types, turn)
    if (given !== undefined) return given.value
    const type = types[types.length > 1 && types[0] === 'null' ? 1 : this.#choose(types.length)]
    if (type === 'object') return this.#object(parts, depth)
    if (type === 'array') return this.#array(parts, depth)
    if (type === 'integer' || type === 'number') return numberBy(parts, type === 'integer', turn)
    if (type === 'boolean') return turn % 2 === 0 || this.#distinct === undefined
    return type === 'null' ? null : textBy(parts, turn, this.#choose)
  }

  // Deep down it takes the last alternative, which is null if there is one, so that a recursive schema ends.
  #wayOf(ways: readonly unknown[], depth: number, turn: number): unknown {
    if (depth > depthMax) return ways.at(-1 - this.#choose(ways.length))
    return ways[(turn + this.#choose(ways.length)) % ways.length]
  }

  // Returns the value that the contract itself gives: a `const` before an example.
  #given(
    parts: readonly Node[],
    types: readonly string[],
    turn: number,
  ): { readonly value: unknown } | undefined {
    const exact = parts.find((each) => 'const' in each)
    if (exact !== undefined) return { value: exact.const }
    const all = this.#takesExamples === 'none' ? [] : parts.flatMap(examplesIn)
    const examples = this.#distinct === undefined ? all : all.slice(turn)
    const value = examples.find(
      (each) => (this.#takesExamples === 'all' && isContainer(each)) || fitsScalar(each, parts, types),
    )
    if (value !== undefined) return { value }
    const lists = parts.flatMap(({ enum: values }) => (Array.isArray(values) ? [values as unknown[]] : []))
    const [first] = lists
    if (first === undefined) return undefined
    const common = first.filter(
      (each) => lists.every((list) => list.includes(each)) && isOfTypes(each, types),
    )
    const some = common.length > 0 ? common : first
    return { value: some[(this.#choose(some.length) + turn) % some.length] }
  }

  #array(parts: readonly Node[], depth: number): unknown[] {
    const min = greatest(parts, 'minItems') ?? 0
    const max = least(parts, 'maxItems') ?? Number.POSITIVE_INFINITY
    const contained = parts.filter((each) => 'contains' in each)
    const containedMin = contained.length === 0 ? 0 : (greatest(parts, 'minContains') ?? 1)
    const few = Math.max(min, containedMin, 1 - contained.length)
    const isShort =
      min === 0 &&
      (depth >= depthMax || this.#count > valuesMax || (this.#isSparse && contained.length === 0))
    const prefix = Math.max(
      0,
      ...parts.map(({ prefixItems }) => (Array.isArray(prefixItems) ? prefixItems.length : 0)),
    )
    const count = isShort ? 0 : Math.min(Math.max(few, prefix), max)
    const items: unknown[] = []
    const outer = this.#distinct
    try {
      for (let i = 0; i < count; i++) {
        if (parts.some(({ uniqueItems }) => uniqueItems === true)) this.#distinct = i
        const within = i < containedMin ? contained.map((each) => each.contains) : []
        const schemas = [...itemSchemas(parts, i), ...within]
        const item = this.value(schemas.length === 0 ? [true] : schemas, depth + 1, i + (outer ?? 0))
        if (item === undefined) break
        items.push(item)
      }
    } finally {
      this.#distinct = outer
    }
    return items
  }

  #object(parts: readonly Node[], depth: number): object {
    const required = new Set(parts.flatMap((each) => stringsIn(each.required)))
    const declared = [...new Set(parts.flatMap(({ properties }) => Object.keys(nodeOf(properties))))]
    const isShort = this.#isSparse || this.#isOfRequest
    const isFull = () => depth < depthMax && this.#count < valuesMax && !isShort
    const max = least(parts, 'maxProperties') ?? Number.POSITIVE_INFINITY
    const min = greatest(parts, 'minProperties') ?? 0
    const fields = new Map<string, unknown>()
    const left = new Set(required)
    const adds = (name: string) =>
      fields.size + left.size < (isFull() ? max : Math.min(min, max)) || left.has(name)
    for (const name of [...declared, ...[...required].filter((each) => !declared.includes(each))]) {
      if (!adds(name)) continue
      this.#addField(fields, name, parts, required.has(name), depth)
      left.delete(name)
    }
    this.#addOthers(fields, parts, declared.length === 0 && isFull() && max > 0, depth)
    return Object.fromEntries(fields)
  }

  #addField(
    fields: Map<string, unknown>,
    name: string,
    parts: readonly Node[],
    isRequired: boolean,
    depth: number,
  ) {
    const schemas = fieldSchemas(parts, name)
    const unsent = this.#isOfRequest ? 'readOnly' : 'writeOnly'
    if (schemas.some((each) => this.#reader.node(each)[unsent] === true)) return
    const value = this.value(schemas.length === 0 ? [true] : schemas, depth + 1, this.#distinct ?? 0)
    if (value === undefined) return
    // Later drafts leave out an optional field whose value the validator refuses.
    const isDoubtful = this.#isExact && !isRequired
    if (isDoubtful && !schemas.every((each) => this.#accepts(each as AnySchema, value))) return
    fields.set(name, value)
  }

  // Adds fields without a name in the schema: as many as there must be, or one as an example.
  #addOthers(fields: Map<string, unknown>, parts: readonly Node[], isShown: boolean, depth: number): void {
    const hasOthers = parts.some(
      ({ additionalProperties: each }) => typeof each === 'object' && each !== null,
    )
    const patterns = parts.flatMap(({ patternProperties }) => Object.keys(nodeOf(patternProperties)))
    const min = Math.max(
      greatest(parts, 'minProperties') ?? 0,
      isShown && (hasOthers || patterns.length > 0) ? 1 : 0,
    )
    for (let i = 0; fields.size < min && i < min + 20; i++) {
      const name = this.#nameOf(parts, patterns[i % patterns.length], i)
      if (!fields.has(name)) this.#addField(fields, name, parts, true, depth)
    }
  }

  #nameOf(parts: readonly Node[], pattern: string | undefined, i: number): string {
    const names = parts.flatMap(({ propertyNames }) => propertyNames ?? [])
    const asText = pattern === undefined ? [] : [{ type: 'string', pattern }]
    if (names.length + asText.length === 0) return i === 0 ? 'key' : `key${i + 1}`
    const name = this.value([...names, ...asText, { type: 'string' }], endMax - 2, i)
    return typeof name === 'string' ? name : 'key'
  }
}

const waysMax = 8

function isComposed(schema: unknown): boolean {
  const names = [...composingKeywords, 'not', 'if', 'dependentSchemas', 'dependentRequired', '$ref']
  return typeof schema === 'object' && schema !== null && names.some((each) => each in schema)
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Returns the examples of a schema's part, and its default. */
export function examplesIn({ example, examples, default: fallback }: Node): unknown[] {
  const all = [example, ...(Array.isArray(examples) ? examples : []), fallback]
  return all.filter((each) => each !== undefined)
}

function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

const allTypes = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']

// Returns the types that all parts allow; if no part has a type, those that its keywords imply.
function typesOfParts(parts: readonly Node[]): readonly string[] {
  const lists = parts.flatMap(({ type }) => (type === undefined ? [] : [[type].flat().map(String)]))
  const [first, ...others] = lists
  if (first === undefined) return impliedTypes(parts)
  const isIn = (list: readonly string[], type: string) =>
    list.includes(type) || (type === 'integer' && list.includes('number'))
  const narrow = first.flatMap((each) => (each === 'number' ? ['number', 'integer'] : [each]))
  const common = narrow.filter((each) => others.every((list) => isIn(list, each)))
  const isNumber = common.includes('number') && common.includes('integer') && !first.includes('integer')
  const types = isNumber ? common.filter((each) => each !== 'integer') : common
  return types.length === 0 ? first : [...types].sort((a, b) => Number(a === 'null') - Number(b === 'null'))
}

function impliedTypes(parts: readonly Node[]): readonly string[] {
  const implied = new Set(
    parts.flatMap((each) => Object.keys(each).map((keyword) => keywordTypes.get(keyword))),
  )
  const found = ['object', 'array', 'integer'].filter((type) => implied.has(type))
  if (found.length > 0) return found.map((type) => (type === 'integer' ? 'number' : type))
  const isGiven = parts.some((each) => examplesIn(each).length > 0 || 'enum' in each)
  return isGiven ? ['string', ...allTypes] : ['string']
}

function isOfTypes(value: unknown, types: readonly string[]): boolean {
  if (value === null) return types.includes('null')
  if (Array.isArray(value)) return types.includes('array')
  if (typeof value !== 'number' && typeof value !== 'bigint') return types.includes(typeof value)
  const isInteger = typeof value === 'bigint' || Number.isInteger(value)
  return types.includes('number') || (types.includes('integer') && isInteger)
}

function itemSchemas(parts: readonly Node[], i: number): unknown[] {
  return parts.flatMap(({ prefixItems, items }) => {
    const own = Array.isArray(prefixItems) && i < prefixItems.length ? prefixItems[i] : items
    return own === undefined ? [] : [own]
  })
}

// Returns the schemas of a field in each part: by its name and by patterns, or else that of all other fields.
function fieldSchemas(parts: readonly Node[], name: string): unknown[] {
  return parts.flatMap(({ properties, patternProperties, additionalProperties }) => {
    const own = Object.hasOwn(nodeOf(properties), name) ? [nodeOf(properties)[name]] : []
    const matching = Object.entries(nodeOf(patternProperties)).filter(([pattern]) => matches(pattern, name))
    const all = [...own, ...matching.map(([, each]) => each)]
    return all.length > 0 || additionalProperties === undefined ? all : [additionalProperties]
  })
}
