// Where a value stands in a document, which decides how it is read (as a schema, a map, data), and the one
// walk over a document, of which every pass that reads or changes all of it is a visitor.

import type { Pointer } from './contract-error.js'
import { changedMembers, schemaKeywords } from './keywords.js'

/** What an object of a document is, by the field of the Components Object that may have it. */
export type NodeKind = keyof typeof nouns

/** The kinds of components (OpenAPI, Components Object), in words. */
export const nouns = {
  schemas: 'a schema',
  responses: 'a response',
  parameters: 'a parameter',
  examples: 'an example',
  requestBodies: 'a request body',
  headers: 'a header',
  securitySchemes: 'a security scheme',
  links: 'a link',
  callbacks: 'a callback',
  pathItems: 'a path item',
  mediaTypes: 'a media type',
}

/** Where in a document a value stands. */
export interface Place {
  /** The field that it belongs to: a member of a map, or an item of an array, to that of the map or array. */
  readonly of: string
  /** Whether its keys are names. */
  readonly isMap: boolean
  /** Of a map: whether it may have extensions beside its names. */
  readonly isExtensible?: boolean
  /** Whether nothing in it is a field, a keyword or a `$ref`. */
  readonly isData: boolean
  /** What belongs there; undefined where anything may stand. */
  readonly kind: NodeKind | undefined
  /** Extensions that are no data. */
  readonly extensions: readonly string[]
  /** Its name or index, and the place that has it; undefined of what is walked over as a whole. */
  readonly key?: string | number
  readonly around?: Place
}

/** That of a document, and of a part that is read on its own. */
export const wholeDocument: Place = { of: '', isMap: false, isData: false, kind: undefined, extensions: [] }

// Fields and keywords whose value is a map: its keys are names.
const mapFields: ReadonlySet<string> = new Set([
  ...[...schemaKeywords].filter(([, { holds }]) => holds === 'map').map(([name]) => name),
  ...['paths', 'webhooks', 'pathItems', 'callbacks', 'schemas', 'responses', 'parameters', 'headers'],
  ...['requestBodies', 'securitySchemes', 'links', 'mediaTypes', 'content', 'encoding', 'variables'],
  'examples',
])
/** Fields, of a Parameter, Header or Media Type Object, whose value is a schema. */
export const schemaFields: ReadonlySet<string> = new Set(['schema', 'itemSchema'])
// Fields and keywords whose value is data: nothing in it is a keyword or a `$ref`.
const dataFields: ReadonlySet<string> = new Set(['example', 'default', 'enum', 'const'])
// Of a Link Object: in others they are no data.
const linkData: ReadonlySet<string> = new Set(['parameters', 'requestBody'])

/** Fields whose values are Path Item Objects, whose `$ref` may have sibling fields. */
export const pathItemFields: ReadonlySet<string> = new Set(['paths', 'pathItems', 'webhooks'])
/** Fields in which a `$ref` is a Reference Object, whose siblings do not count, and not a schema. */
export const referenceFields: ReadonlySet<string> = new Set([
  ...['parameters', 'responses', 'headers', 'requestBodies', 'requestBody', 'securitySchemes', 'links'],
  ...['callbacks', 'mediaTypes', 'content', 'examples'],
])

// By the field that an object belongs to, or the field of its map.
const kinds: ReadonlyMap<string, NodeKind> = new Map<string, NodeKind>([
  ...(Object.keys(nouns) as NodeKind[]).map((kind) => [kind, kind] as const), // the keys of `nouns`
  ...[...schemaFields, ...schemaKeywords.keys()].map((field) => [field, 'schemas'] as const),
  ['requestBody', 'requestBodies'],
  ['content', 'mediaTypes'],
  ['paths', 'pathItems'],
  ['webhooks', 'pathItems'],
])

/** That of a member of a value, or of an item if the value is an array. */
export function placeIn(around: Place, key: string | number, isItem = typeof key === 'number'): Place {
  const { isMap, extensions } = around
  const name = String(key)
  const isMember = isMap || isItem
  const of = isMember ? around.of : name
  // In a schema, examples are an array of values.
  const isOfData = isMember ? isItem && isMap && of === 'examples' : isDataField(around.of, name)
  const isExtension = !isItem && isExtensionIn(around, name) && (isMap || !extensions.includes(name))
  const isData = around.isData || isExtension || isOfData
  const isMapOf = !isMember && !isData && mapFields.has(name)
  const isExtensible = !isMember && isExtensibleMap(around.of, name)
  const kind = isData || isMapOf ? undefined : kindIn(around, of)
  return { of, isMap: isMapOf, isExtensible, isData, kind, extensions, key, around }
}

/** Whether a member of a value is an extension of it. */
export function isExtensionIn({ isMap, isExtensible = false }: Place, key: string): boolean {
  return (!isMap || isExtensible) && key.startsWith('x-')
}

function kindIn(around: Place, of: string): NodeKind | undefined {
  return around.of === 'callbacks' && !around.isMap ? 'pathItems' : kinds.get(of)
}

// An Example Object has nothing else.
function isDataField(of: string, key: string): boolean {
  return dataFields.has(key) || of === 'examples' || (of === 'links' && linkData.has(key))
}

// Among components, a name may begin with x-.
function isExtensibleMap(around: string, field: string): boolean {
  return field === 'paths' || (field === 'responses' && around !== 'components')
}

/** The keys that lead to a place from what is walked over. */
export function pathOf({ key, around }: Place): (string | number)[] {
  return key === undefined || around === undefined ? [] : [...pathOf(around), key]
}

/** The place that a pointer leads to, whether something stands there or not. */
export function placeAt(document: object, at: Pointer): Place {
  let value: unknown = document
  return at.reduce<Place>((place, key) => {
    const inner = placeIn(place, key, Array.isArray(value))
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[key]
    return inner
  }, wholeDocument)
}

/**
 * Goes into an object or array: it with what stands in place of its members; itself, if nothing is replaced.
 */
export type Within = (value: object, place: Place) => object

/**
 * What stands in place of an object or array: `within` of it, changed before or after; or it is not entered.
 */
export type Visit = (value: object, place: Place, within: Within) => unknown

export interface WalkOptions {
  /** Of the value that is walked over. */
  readonly place?: Place
  /**
   * What stands in place of any other value: of a text, a number, `true`; and of data, unless it is entered.
   */
  readonly other?: (value: unknown, place: Place) => unknown
  readonly entersData?: boolean
}

/** What stands in place of a document once each of its objects and arrays was visited, in their order. */
export function walk(document: unknown, visit: Visit, options: WalkOptions = {}): unknown {
  const { place = wholeDocument, other, entersData = false } = options
  const visited = (value: unknown, at: Place): unknown => {
    const isEntered = typeof value === 'object' && value !== null && (entersData || !at.isData)
    if (isEntered) return visit(value, at, within)
    return other === undefined ? value : other(value, at)
  }
  const within: Within = (value, around) =>
    changedMembers(value, (each, key) =>
      other === undefined && typeof each !== 'object' ? each : visited(each, placeIn(around, key)),
    )
  return visited(document, place)
}
