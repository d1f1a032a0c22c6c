// Tells where a value stands in a document, which decides how it is read: as a schema, a map, or data. Has
// the one walk over a document: every pass that reads or changes all of it is a visitor of this walk.

import type { Pointer } from './contract-error.js'
import { changedMembers, schemaKeywords } from './keywords.js'

/** The kind of an object in a document, named by the field of the Components Object for such objects. */
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

/** Where a value stands in a document. */
export interface Place {
  /**
   * The field that has the value. A member of a map, or an item of an array, has the field of the map or
   * array.
   */
  readonly of: string
  /** True if its keys are names. */
  readonly isMap: boolean
  /** For a map: true if it may have extensions beside its names. */
  readonly isExtensible?: boolean
  /** True if nothing in it is a field, a keyword or a `$ref`. */
  readonly isData: boolean
  /** The kind of object that belongs there; undefined where anything may stand. */
  readonly kind: NodeKind | undefined
  /** The extensions that are not data. */
  readonly extensions: readonly string[]
  /** Its name or index, and the place that contains it; undefined for the value at which the walk starts. */
  readonly key?: string | number
  readonly around?: Place
}

/** The place of a document, or of a part that is read on its own. */
export const wholeDocument: Place = { of: '', isMap: false, isData: false, kind: undefined, extensions: [] }

// Fields and keywords whose value is a map: its keys are names.
const mapFields: ReadonlySet<string> = new Set([
  ...[...schemaKeywords].filter(([, { holds }]) => holds === 'map').map(([name]) => name),
  ...['paths', 'webhooks', 'pathItems', 'callbacks', 'schemas', 'responses', 'parameters', 'headers'],
  ...['requestBodies', 'securitySchemes', 'links', 'mediaTypes', 'content', 'encoding', 'variables'],
  'examples',
])
/** Fields of a Parameter, Header or Media Type Object whose value is a schema. */
export const schemaFields: ReadonlySet<string> = new Set(['schema', 'itemSchema'])
// Fields and keywords whose value is data: nothing in it is a keyword or a `$ref`.
const dataFields: ReadonlySet<string> = new Set(['example', 'default', 'enum', 'const'])
// Fields that are data only in a Link Object.
const linkData: ReadonlySet<string> = new Set(['parameters', 'requestBody'])

/** Fields whose values are Path Item Objects, whose `$ref` may have sibling fields. */
export const pathItemFields: ReadonlySet<string> = new Set(['paths', 'pathItems', 'webhooks'])
/** Fields in which a `$ref` is a Reference Object, whose siblings do not count, and not a schema. */
export const referenceFields: ReadonlySet<string> = new Set([
  ...['parameters', 'responses', 'headers', 'requestBodies', 'requestBody', 'securitySchemes', 'links'],
  ...['callbacks', 'mediaTypes', 'content', 'examples'],
])

// The kind of an object, by the field that it belongs to, or the field of its map.
const kinds: ReadonlyMap<string, NodeKind> = new Map<string, NodeKind>([
  ...(Object.keys(nouns) as NodeKind[]).map((kind) => [kind, kind] as const), // the keys of `nouns`
  ...[...schemaFields, ...schemaKeywords.keys()].map((field) => [field, 'schemas'] as const),
  ['requestBody', 'requestBodies'],
  ['content', 'mediaTypes'],
  ['paths', 'pathItems'],
  ['webhooks', 'pathItems'],
])

/** Returns the place of a member of a value, or of an item if the value is an array. */
export function placeIn(around: Place, key: string | number, isItem = typeof key === 'number'): Place {
  const { isMap, extensions } = around
  const name = String(key)
  const isMember = isMap || isItem
  const of = isMember ? around.of : name
  // In a schema, `examples` is an array of values.
  const isOfData = isMember ? isItem && isMap && of === 'examples' : isDataField(around.of, name)
  const isExtension = !isItem && isExtensionIn(around, name) && (isMap || !extensions.includes(name))
  const isData = around.isData || isExtension || isOfData
  const isMapOf = !isMember && !isData && mapFields.has(name)
  const isExtensible = !isMember && isExtensibleMap(around.of, name)
  const kind = isData || isMapOf ? undefined : kindIn(around, of)
  return { of, isMap: isMapOf, isExtensible, isData, kind, extensions, key, around }
}

/** True if a member of a value is an extension of it. */
export function isExtensionIn({ isMap, isExtensible = false }: Place, key: string): boolean {
  return (!isMap || isExtensible) && key.startsWith('x-')
}

function kindIn(around: Place, of: string): NodeKind | undefined {
  return around.of === 'callbacks' && !around.isMap ? 'pathItems' : kinds.get(of)
}

// All fields of an Example Object are data.
function isDataField(of: string, key: string): boolean {
  return dataFields.has(key) || of === 'examples' || (of === 'links' && linkData.has(key))
}

// Among components, a name may begin with x-.
function isExtensibleMap(around: string, field: string): boolean {
  return field === 'paths' || (field === 'responses' && around !== 'components')
}

/** Returns the keys that lead to a place from the start of the walk. */
export function pathOf({ key, around }: Place): (string | number)[] {
  return key === undefined || around === undefined ? [] : [...pathOf(around), key]
}

/** Returns the place that a pointer leads to, whether something stands there or not. */
export function placeAt(document: object, at: Pointer): Place {
  let value: unknown = document
  return at.reduce<Place>((place, key) => {
    const inner = placeIn(place, key, Array.isArray(value))
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[key]
    return inner
  }, wholeDocument)
}

/**
 * Visits the members of an object or array. Returns a copy with what the visitor returned for them; the same
 * object if nothing was replaced.
 */
export type Within = (value: object, place: Place) => object

/**
 * Returns what replaces an object or array: the result of `within`, changed before or after, or anything else
 * if it is not entered.
 */
export type Visit = (value: object, place: Place, within: Within) => unknown

export interface WalkOptions {
  /** The place of the value at which the walk starts. */
  readonly place?: Place
  /**
   * Returns what replaces any other value: a string, a number, `true`; and data, unless the walk enters it.
   */
  readonly other?: (value: unknown, place: Place) => unknown
  readonly entersData?: boolean
}

/** Visits each object and array of a document, in their order, and returns what replaces the document. */
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
