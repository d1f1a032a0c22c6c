// The kinds of components (OpenAPI, Components Object): what stands where in a document, and so what a `$ref`
// must refer to. Of the wrong kind, it would be read as an object without fields: nothing would be validated.

import type { Pointer, Problem } from './contract-error.js'
import { type Nesting, nestingIn, outermost, schemaFields, schemaKeywords } from './keywords.js'
import { pointerKeys } from './pointer.js'

const nouns = {
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

/** What an object of a document is, by the field of the Components Object that may have it. */
export type Kind = keyof typeof nouns

// By the field that an object belongs to, or the field of its map.
const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...(Object.keys(nouns) as Kind[]).map((kind) => [kind, kind] as const), // the keys of `nouns`
  ...[...schemaFields, ...schemaKeywords.keys()].map((field) => [field, 'schemas'] as const),
  ['requestBody', 'requestBodies'],
  ['content', 'mediaTypes'],
  ['paths', 'pathItems'],
  ['webhooks', 'pathItems'],
])

/** A value of a document: where it is nested, and what belongs there, undefined where anything may stand. */
export interface Place {
  readonly nesting: Nesting
  readonly kind: Kind | undefined
}

/** That of a document. */
export const wholeDocument: Place = { nesting: outermost, kind: undefined }

/** That of a member of a value, or of an item if the value is an array; undefined in data. */
export function placeIn({ nesting }: Place, key: string, isItem: boolean): Place | undefined {
  const inner = nestingIn(nesting, key, isItem)
  return inner.isData ? undefined : { nesting: inner, kind: kindIn(nesting, inner) }
}

/** A `$ref`, the place of the object that has it, and what belongs there. */
export interface Reference {
  readonly ref: string
  readonly at: Pointer
  readonly kind: Kind
}

/** The references of a document, but for those in its data. */
export function referencesIn(document: object): Reference[] {
  return refsIn(document)
}

/** A problem for each `$ref` of a document to an object of another kind than belongs there. */
export function misplacedRefs(document: object): Problem[] {
  return referencesIn(document).flatMap(({ ref, at, kind }) => {
    const actual = kindAt(document, ref)
    if (actual === undefined || actual === kind) return []
    return [{ text: `$ref ${ref} refers to ${nouns[actual]}: it must refer to ${nouns[kind]}`, at }]
  })
}

/** Whether a schema stands where a `$ref` points to. */
export function isOfSchema(document: object, ref: string): boolean {
  return kindAt(document, ref) === 'schemas'
}

// Undefined where anything may stand, as in an extension.
function kindAt(document: object, ref: string): Kind | undefined {
  let [value, nesting, kind]: [unknown, Nesting, Kind | undefined] = [document, outermost, undefined]
  for (const key of pointerKeys(ref) ?? []) {
    const inner = nestingIn(nesting, key, Array.isArray(value))
    kind = kindIn(nesting, inner)
    nesting = inner
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[key]
  }
  return kind
}

function kindIn(around: Nesting, inner: Nesting): Kind | undefined {
  if (inner.isMap || inner.isData) return undefined
  return around.of === 'callbacks' && !around.isMap ? 'pathItems' : kinds.get(inner.of)
}

// The path is one array, because a large document has a hundred thousand members and few references.
function refsIn(
  value: unknown,
  path: (string | number)[] = [],
  place: Place = wholeDocument,
  found: Reference[] = [],
): Reference[] {
  if (typeof value !== 'object' || value === null) return found
  const { $ref } = value as { readonly $ref?: unknown }
  if (place.kind !== undefined && typeof $ref === 'string')
    found.push({ ref: $ref, at: [...path], kind: place.kind })
  const isList = Array.isArray(value)
  for (const [key, each] of Object.entries(value)) {
    const inner = placeIn(place, key, isList)
    if (inner === undefined) continue
    path.push(isList ? Number(key) : key)
    refsIn(each, path, inner, found)
    path.pop()
  }
  return found
}
