// Server-sent events. The schema of an event describes its text, as a client parses it (OpenAPI 3.2, section
// 4.14). A handler returns values: if the text of `data` is JSON, the content has the schema of the JSON
// value.

import { allowedTypes } from '../../document/allowed-types.js'
import type { Content, EventData, Schema } from '../../document/contract.js'
import { type AnySchema, asserts } from '../../document/keywords.js'
import { isJson } from '../../document/media-types.js'
import { type Node, nodeOf, nodesOf, type Reader } from '../../document/reader.js'

// The fields that a client reads of an event, with their schemas if a document has none.
const fields: Readonly<Record<string, Schema>> = {
  event: { type: 'string' },
  id: { type: 'string' },
  retry: { type: 'integer', minimum: 0 },
  data: { type: 'string' },
}

/**
 * Returns the schema of an event from the `schema` of a document before OpenAPI 3.2, which describes the data
 * or the whole event.
 */
export function eventSchemaOf(reader: Reader, schema: AnySchema): AnySchema {
  const types = allowedTypes(nodeOf(reader.dereferenced(schema)))
  if (types === undefined && Object.keys(nodeOf(schema)).length === 0) return true
  if (types?.includes('object') && isEvent(reader, schema)) return schema
  const json = { type: 'string', contentMediaType: 'application/json', contentSchema: schema }
  return { required: ['data'], properties: { data: types?.join() === 'string' ? schema : json } }
}

function isEvent(reader: Reader, schema: AnySchema): boolean {
  const { all } = eventAlternatives(reader, schema)
  return all.every((parts) => {
    const names = parts.flatMap(({ properties }) => Object.keys(nodeOf(properties)))
    return names.includes('data') && names.every((name) => name in fields)
  })
}

/** Returns the events that a schema describes, or why they cannot be validated. */
export function readEvents(
  reader: Reader,
  schema: AnySchema,
): Pick<Content, 'framing' | 'schema' | 'data'> | string {
  const { all, keyword } = eventAlternatives(reader, schema)
  if (all.length > alternativesMax) return `has more than ${alternativesMax} kinds of events`
  const read = all.map((parts) => readEvent(reader, parts))
  const problem = read.find((each) => typeof each === 'string')
  if (problem !== undefined) return problem
  const events = read.filter((each) => typeof each !== 'string')
  const data = events.map((each) => each.data)
  if (data.some((each, i) => data.slice(i + 1).some((other) => areAlike(each, other))))
    return 'has events whose data is JSON and others whose data is text: a const of event must tell which'
  const schemas = events.map((each) => each.schema)
  for (const each of schemas) reader.checkRefs(each)
  const [only] = schemas
  return { framing: 'sse', data, schema: only && schemas.length === 1 ? only : { [keyword]: schemas } }
}

// True if one alternative has text as its data and the other JSON, and nothing in an event tells which of
// them it is.
function areAlike(a: EventData, b: EventData): boolean {
  const [text, json] = a.isJson ? [b, a] : [a, b]
  if (a.isJson === b.isJson) return false
  const isShared = text.events?.some((each) => json.events?.includes(each) ?? true) ?? true
  return isShared && (text.texts === undefined || json.allowsText)
}

/** An alternative, as schemas that an event must all meet. None has a `$ref` or alternatives of its own. */
type Parts = readonly Node[]

const alternativesMax = 1_000

interface Alternatives {
  readonly all: readonly Parts[]
  /** `oneOf` if an event must meet exactly one of them. */
  readonly keyword: 'oneOf' | 'anyOf'
}

const depthMax = 100
const tooMany: Alternatives = { all: Array(alternativesMax + 1).fill([]), keyword: 'anyOf' }

/** @param budget the schemas that may still be read: nested alternatives double their number at each level */
function eventAlternatives(
  reader: Reader,
  schema: unknown,
  budget = { left: 10 * alternativesMax },
  depth = 0,
): Alternatives {
  const { $ref, allOf, oneOf, anyOf, discriminator, ...own } = nodeOf(schema)
  budget.left--
  if (budget.left < 0 || depth > depthMax) return tooMany
  const read = (each: unknown) => eventAlternatives(reader, each, budget, depth + 1)
  const extended = typeof $ref === 'string' ? [reader.node({ $ref })] : []
  const groups = [oneOf, anyOf].filter(Array.isArray)
  const choices = groups.map((group) => group.map((each) => withEventOf(discriminator, each)).map(read))
  const found = [...[...extended, ...nodesOf(allOf)].map((each) => [read(each)]), ...choices]
  const all = found.reduce(product, [[own]])
  const isLoose =
    Array.isArray(anyOf) || found.flat().some((each) => each.all.length > 1 && each.keyword === 'anyOf')
  return { all, keyword: isLoose ? 'anyOf' : 'oneOf' }
}

// Combines each alternative so far with each alternative of a group.
function product(some: readonly Parts[], group: readonly Alternatives[]): readonly Parts[] {
  const others = group.flatMap(({ all }) => all)
  if (some.length * others.length > alternativesMax) return tooMany.all
  return some.flatMap((each) => others.map((other) => [...each, ...other]))
}

// Adds the event names by which a discriminator selects an alternative.
function withEventOf(discriminator: unknown, alternative: unknown): unknown {
  const { propertyName, mapping } = nodeOf(discriminator)
  const { $ref } = nodeOf(alternative)
  const names = Object.entries(nodeOf(mapping)).flatMap(([name, target]) => (target === $ref ? [name] : []))
  if (propertyName !== 'event' || names.length === 0) return alternative
  return { allOf: [alternative, { properties: { event: { enum: names } } }] }
}

interface Event {
  /** The schema of the event as a handler returns it. */
  readonly schema: Schema
  readonly data: EventData
}

function readEvent(reader: Reader, parts: Parts): Event | string {
  const problem = partsProblem(reader, parts)
  if (problem !== undefined) return problem
  const of = (name: string) => parts.flatMap(({ properties }) => nodeOf(properties)[name] ?? [])
  const data = readData(reader, of('data'))
  if (typeof data === 'string') return data
  const isClosed = parts.some((each) => (each.additionalProperties ?? each.unevaluatedProperties) === false)
  const known = Object.keys(fields).filter((name) => !isClosed || of(name).length > 0)
  const schemaOf = (name: string) => {
    if (name === 'data') return data.schema
    return of(name).length > 0 ? whole(of(name)) : fields[name]
  }
  const schema = {
    type: 'object',
    required: [...new Set(parts.flatMap(({ required }) => (Array.isArray(required) ? required : [])))],
    properties: Object.fromEntries(known.map((name) => [name, schemaOf(name)])),
  }
  const { isJson, texts, allowsText } = data
  return { schema, data: { isJson, allowsText, events: constantsIn(reader, of('event')), texts } }
}

// Other keywords would not be checked, so they are refused.
const keywordsOfEvents = ['type', 'properties', 'required', 'additionalProperties', 'unevaluatedProperties']

function partsProblem(reader: Reader, parts: Parts): string | undefined {
  const names = parts.flatMap(({ properties }) => Object.keys(nodeOf(properties)))
  const other = names.find((name) => !(name in fields))
  if (other !== undefined) return `has the property ${other}: an event has event, id, retry and data`
  const isOther = (name: string) => !keywordsOfEvents.includes(name) && asserts(name, 'object')
  const keyword = parts.flatMap(Object.keys).find(isOther)
  if (keyword !== undefined)
    return `has ${keyword} in the schema of an event, which is not supported: use oneOf`
  if (parts.some(({ type = 'object' }) => ![type].flat().includes('object')))
    return 'has events that are no objects'
  const notText = ['event', 'id'].find((name) =>
    parts.some((each) => !allowsText(reader, nodeOf(each.properties)[name])),
  )
  return notText === undefined ? undefined : `has events whose ${notText} is no text: use type: string`
}

function readData(reader: Reader, schemas: readonly unknown[]) {
  const read = schemas.map((schema) => ({ schema, json: jsonOf(reader, schema) }))
  const json = read.flatMap((each) => (each.json === undefined ? [] : [each.json as AnySchema]))
  if (read.some(({ schema }) => isEncoded(reader, schema)))
    return 'has events whose data has a contentEncoding, which is not supported'
  if (json.length === 0)
    return {
      isJson: false,
      allowsText: true,
      texts: constantsIn(reader, schemas),
      schema: textSchemaOf(reader, schemas),
    }
  const schema = whole(json)
  return { isJson: true, allowsText: allowsText(reader, schema), texts: undefined, schema }
}

// Returns the schema of the JSON in a text. Many documents declare the data as another type than a string:
// then the text is the JSON of such a value.
function jsonOf(reader: Reader, schema: unknown): unknown {
  for (const each of everywhere(reader, schema))
    if (isJson(String(each.contentMediaType))) return each.contentSchema ?? true
  return allowsText(reader, schema) ? undefined : schema
}

function isEncoded(reader: Reader, schema: unknown): boolean {
  return everywhere(reader, schema).some(({ contentEncoding }) => contentEncoding !== undefined)
}

// Returns a schema, and the schemas that it refers to and extends.
function everywhere(reader: Reader, schema: unknown): Parts {
  const { all } = eventAlternatives(reader, schema)
  return all.flat()
}

function allowsText(reader: Reader, schema: unknown): boolean {
  return allowedTypes(nodeOf(reader.dereferenced(schema)))?.includes('string') ?? true
}

function textSchemaOf(reader: Reader, schemas: readonly unknown[]): AnySchema {
  const isTyped = schemas.some((each) => allowedTypes(nodeOf(reader.dereferenced(each)))?.join() === 'string')
  return whole(isTyped ? schemas : [...schemas, { type: 'string' }])
}

// Returns a schema that combines several.
function whole(schemas: readonly unknown[]): AnySchema {
  const isConstant = schemas.some((each) => typeof nodeOf(each).const === 'string')
  const texts = new Map(schemas.map((each) => [JSON.stringify(each), each]))
  texts.delete('true')
  // it repeats the const, and is left out for a better type
  if (isConstant) texts.delete(JSON.stringify(fields.event))
  const [first = true, ...others] = [...texts.values()] as AnySchema[]
  return others.length === 0 ? first : { allOf: [first, ...others] }
}

// Returns the strings that a const or an enum allows; undefined if it allows any.
function constantsIn(reader: Reader, schemas: readonly unknown[]): readonly string[] | undefined {
  const lists = schemas
    .flatMap((each) => everywhere(reader, each))
    .flatMap((each) => {
      if ('const' in each) return [[String(each.const)]]
      return Array.isArray(each.enum) ? [each.enum.map(String)] : []
    })
  const [first, ...others] = lists
  return first?.filter((each) => others.every((list) => list.includes(each)))
}
