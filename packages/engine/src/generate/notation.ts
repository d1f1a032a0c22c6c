// Writes a contract's types in generated code. Editors and the compiler show a type as it is written, so a
// body is written as `Pet` if its schema has that name, rather than as a path through `operations`.

import type { Content, Contract, Header } from '../document/contract.js'
import { composingKeywords } from '../document/keywords.js'
import { nodeOf, Reader } from '../document/reader.js'
import { isBig } from '../lib/exact-number.js'
import { filledNames } from './filled.js'

export interface Notation {
  readonly hasReadOrWriteOnly: boolean
  /** The schemas that types.ts exports under their own names. */
  readonly names: ReadonlySet<string>
  /** The names that have been written, and so must be imported. */
  readonly used: Set<string>
  /** Returns the names of the fields of a request that a handler always gets, and a client need not send. */
  filledIn(content: Content): readonly string[]
}

// Names that the generated code itself declares, imports or uses.
const reserved = new Set(
  [
    'AsyncIterable Blob Call Callbacks Calls ClientTable Digit ItemIn ItemOf Items Iterable ErrorBody',
    'ErrorCode Errors EventPosition Exclude FileOf LowerCase Lowercase',
    'NonNullable NumberOf Omit OperationId Operations Pick Record RequestOf Required StatusOf Uint8Array',
    'Accepting ByteStream Credentials FileBody FileOptions ReadableStream SecuritySchemes StreamCall',
    'ArrivingFile ArrivingItems CountedItems Filled FormFile ItemError UsernamePassword Webhooks',
    'Readable WithArrivingFiles WithDefaults WithFiles Writable',
  ].flatMap((names) => names.split(' ')),
)

/**
 * Creates the notation of a contract.
 * @param types the text of types.ts
 * @param taken names of other types, which no schema's type may have
 */
export function notationOf(
  { hasReadOrWriteOnly, specification }: Contract,
  types: string,
  taken: readonly string[] = [],
): Notation {
  const reader = new Reader(specification)
  const exported = [...types.matchAll(/^export type (\w+) = /gm)].map(([, name = '']) => name)
  return {
    hasReadOrWriteOnly,
    names: new Set(exported.filter((name) => !reserved.has(name) && !taken.includes(name))),
    used: new Set(),
    filledIn: ({ schema }) => filledNames(reader, schema),
  }
}

// Keywords that do not change the type of a list.
const untyped: ReadonlySet<string> = new Set(['minItems', 'maxItems', 'uniqueItems', 'title', 'description'])

/** Returns `Pet` or `Pet[]` if the body's schema has a name; otherwise undefined. */
export function namedType(
  { schema }: Pick<Content, 'schema'>,
  { names, used }: Notation,
): string | undefined {
  const { type, items, ...others } = nodeOf(schema)
  const isList = type === 'array' && Object.keys(others).every((keyword) => untyped.has(keyword))
  const { $ref, ...siblings } = nodeOf(isList ? items : schema)
  const [, name = ''] = /^#\/components\/schemas\/(\w+)$/.exec(String($ref)) ?? []
  if (Object.keys(siblings).length > 0 || !names.has(name)) return undefined
  used.add(name)
  return isList ? `${name}[]` : name
}

const primitives = new Map([
  ['string', 'string'],
  ['boolean', 'boolean'],
  ['number', 'number'],
  ['integer', 'number'],
])

/** Returns the type of a header that may be any string, number or boolean; otherwise undefined. */
export function primitiveType(header: Pick<Header, 'schema'>): string | undefined {
  const schema = nodeOf(header.schema) // empty if the header has `content`
  if (['enum', 'const', ...composingKeywords].some((keyword) => keyword in schema)) return undefined
  return schema.type === 'integer' && isBig(schema.format) ? 'bigint' : primitives.get(String(schema.type))
}

/**
 * Returns an import of the given names that a text uses, and of `others`; an empty text if there are none.
 */
export function importOf(
  names: readonly string[],
  text: string,
  module: string,
  others: readonly string[] = [],
): string {
  const used = [...others, ...names.filter((name) => new RegExp(`\\b${name}[[<]`).test(text))]
  return used.length > 0 ? `import type { ${used.join(', ')} } from '${module}'\n` : ''
}
