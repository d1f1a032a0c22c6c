// Normalises documents: rewrites what OpenAPI and JSON Schema can express in several ways to one of them, so
// that equivalent documents have no difference. Documentation is not changed.

import {
  essence,
  isJson,
  isOpenApi30,
  methodFields,
  parametersOf,
  Reader,
  resolvePointer,
  schemaKeywords,
  toSchema31,
  withSchemaOfItem,
  withSchemaOfRows,
} from 'contract-engine/tools'
import { filtered, isNode, keyed, type Node, nodesOf } from './node.js'
import {
  annotations,
  intersect,
  isUnevaluating,
  simplify,
  typesOf,
  unwrapChoice,
  withoutDocumentation,
} from './simplify.js'

/** What a comparison remembers about normalised documents. */
export interface Tables {
  /** The first spelling of each header name, by the name in lower case. */
  readonly spellings: Map<string, string>
  /** The normalised targets of local `$ref`s, by document. */
  readonly targets: WeakMap<Node, ReadonlyMap<string, unknown>>
  /** The parsed mapping of each normalised mapping. */
  readonly origins: WeakMap<Node, Node>
  /** The mappings from which each merged mapping was merged. */
  readonly sources: WeakMap<Node, readonly Node[]>
}

// The kinds of the parts of a document, by kind and key. `*` marks a mapping from names.
const shapes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  document: { paths: 'item*', webhooks: 'item*', components: 'components' },
  components: {
    ...{ schemas: 'schema*', responses: 'response*', parameters: 'parameter*', headers: 'header*' },
    ...{ requestBodies: 'body*', pathItems: 'item*', callbacks: 'item**', securitySchemes: 'scheme*' },
    mediaTypes: 'media*',
  },
  item: {
    parameters: 'parameter',
    ...keyed(methodFields.join(' '), 'operation'),
    additionalOperations: 'operation*',
  },
  operation: {
    parameters: 'parameter',
    requestBody: 'body',
    responses: 'statusResponse*',
    callbacks: 'item**',
  },
  parameter: { schema: 'schema', content: 'media*' },
  body: { content: 'streamed*' },
  response: { headers: 'namedHeader*', content: 'streamed*' },
  statusResponse: { headers: 'namedHeader*', content: 'streamed*' }, // keyed by status
  header: { schema: 'schema', content: 'media*' },
  namedHeader: { schema: 'schema', content: 'media*' }, // keyed by the header's name
  media: { schema: 'schema', itemSchema: 'schema', encoding: 'encoding*' },
  streamed: { schema: 'schema', itemSchema: 'schema', encoding: 'encoding*' }, // possibly a stream of items
  encoding: { headers: 'namedHeader*' },
  schema: Object.fromEntries(
    [...schemaKeywords].map(([keyword, { holds }]) => [keyword, holds === 'map' ? 'schema*' : 'schema']),
  ),
}

/**
 * Normalises a document, and records in the tables where its parts come from. Documents to compare share the
 * tables.
 */
export function normalise(document: Node, tables: Tables): Node {
  const normaliser = new Normaliser(document, tables)
  const normalised = normaliser.convert(document, 'document') as Node
  tables.targets.set(normalised, normaliser.targets())
  return normalised
}

class Normaliser {
  readonly #targets = new Map<string, unknown>()
  readonly #converted = new Map<Node, unknown>()
  /** Mappings whose conversion is unfinished: a schema cannot be merged with one that contains it. */
  readonly #inProgress = new Set<unknown>()
  /** The kinds of the targets, by `$ref`. */
  readonly #refs = new Map<string, string>()
  readonly #is30: boolean
  readonly #reader: Reader

  constructor(
    readonly document: Node,
    readonly tables: Tables,
  ) {
    this.#is30 = isOpenApi30(document)
    this.#reader = new Reader(document)
  }

  convert(value: unknown, kind: string): unknown {
    if (Array.isArray(value)) return value.map((each) => this.convert(each, kind))
    if (!isNode(value)) return value
    if (this.#converted.has(value)) return this.#converted.get(value)
    this.#inProgress.add(value)
    const entries = Object.entries(this.#rewritten(value, kind)).map(([key, each]) => {
      const inner = kind.endsWith('*') ? kind.slice(0, -1) : shapes[kind]?.[key]
      return [key, inner === undefined ? each : this.convert(each, inner)]
    })
    const isReference = typeof value.$ref === 'string'
    if (isReference) this.#refs.set(String(value.$ref), kind)
    const copy: Node = Object.fromEntries(entries)
    const normalised = isReference && kind !== 'schema' ? copy : this.#normalise(copy, kind)
    this.#inProgress.delete(value)
    this.#converted.set(value, normalised)
    this.tables.origins.set(normalised, value)
    return normalised
  }

  #rewritten(value: Node, kind: string): Node {
    // `nullable` counts in 3.1, too, as the server reads it: many documents still use it there.
    if (kind === 'schema') return withoutBooleans(toSchema31(value))
    if (kind !== 'streamed*') return value
    // Describes a stream by the schema of its items, wherever the document has it, and an event by its JSON.
    const items = Object.entries(value).map(([type, media]) => {
      return [type, withSchemaOfItem(this.#reader, type, withSchemaOfRows(type, media))]
    })
    return Object.fromEntries(items)
  }

  /** Converts the targets of all references, directly or indirectly. */
  targets(): ReadonlyMap<string, unknown> {
    // A Map also iterates over references that are added meanwhile.
    for (const ref of this.#refs.keys()) this.#target(ref)
    return this.#targets
  }

  #target(ref: string): unknown {
    if (this.#targets.has(ref)) return this.#targets.get(ref)
    const value = resolvePointer(this.document, ref)
    if (this.#inProgress.has(value)) return undefined
    const target = this.convert(value, this.#refs.get(ref) ?? 'schema')
    this.#targets.set(ref, target)
    return target
  }

  #normalise(node: Node, kind: string): Node {
    switch (kind) {
      case 'schema':
        return this.#schema(node)
      case 'parameter':
      case 'header':
      case 'namedHeader':
        return this.#parameter(node, kind)
      case 'scheme':
        return this.#scheme(node)
      case 'operation':
        return omit(node, { deprecated: node.deprecated === false })
      case 'body':
        return omit(node, { required: node.required === false })
      case 'namedHeader*':
        return this.#headers(node)
      case 'statusResponse*':
        return renamed(node, (status) => (/^[1-5]xx$/i.test(status) ? status.toUpperCase() : status))
      case 'media*':
      case 'streamed*':
        return renamed(node, mediaType)
      default:
        return node
    }
  }

  // Header names are case-insensitive (RFC 9110, section 5.1).
  #spelling(name: string): string {
    const lower = name.toLowerCase()
    const known = this.tables.spellings.get(lower) ?? name
    this.tables.spellings.set(lower, known)
    return known
  }

  // OpenAPI ignores a Content-Type header, since `content` defines it (3.1, section 4.8.17.1).
  #headers(node: Node): Node {
    const { [this.#spelling('Content-Type')]: _, ...others } = renamed(node, (name) => this.#spelling(name))
    return others
  }

  // Omits defaults (OpenAPI 3.1, section 4.8.12.2.1).
  #parameter(given: Node, kind: string): Node {
    const node = this.#withSchema(given)
    const defaultStyle = ['query', 'cookie'].includes(String(node.in)) ? 'form' : 'simple'
    const { style = defaultStyle, explode, content } = node
    const flags = ['required', 'deprecated', 'allowReserved', 'allowEmptyValue']
    const copy = omit(node, {
      style: content !== undefined || style === defaultStyle,
      explode: content !== undefined || explode === (style === 'form') || !this.#isList(node.schema),
      ...Object.fromEntries(flags.map((key) => [key, node[key] === false])),
    })
    return kind === 'parameter' && copy.in === 'header'
      ? { ...copy, name: this.#spelling(String(copy.name)) }
      : copy
  }

  // Numbers and booleans are written the same in JSON and in every style.
  #withSchema(node: Node): Node {
    const { content, ...others } = node
    const [[mediaType, media] = [], second] = Object.entries(isNode(content) ? content : {})
    if (mediaType === undefined || second || !isJson(mediaType) || !isNode(media)) return node
    const isPlain = this.#typesOf(media.schema).every((type) => plainTypes.has(type))
    return isPlain ? { ...others, schema: media.schema } : node
  }

  // `explode` makes several values of an object or array.
  #isList(schema: unknown): boolean {
    return this.#typesOf(schema).some((type) => type === 'object' || type === 'array')
  }

  #typesOf(schema: unknown): string[] {
    return typesOf((isNode(schema) && this.#resolved(schema)) || {})
  }

  // Authentication schemes are case-insensitive (RFC 9110, section 11.1).
  #scheme(node: Node): Node {
    const { scheme, name } = node
    return {
      ...node,
      ...(typeof scheme === 'string' && { scheme: scheme.toLowerCase() }),
      ...(node.in === 'header' && { name: this.#spelling(String(name)) }),
    }
  }

  #schema(node: Node): Node {
    if (this.#is30 && node.$ref !== undefined) return { $ref: node.$ref }
    const schema = unwrapChoice(node, (member) => this.#resolved(member))
    const { $ref, allOf, ...rest } = schema
    const members: Node[] = [...($ref === undefined ? [] : [{ $ref }]), ...nodesOf(allOf)]
    const isAnnotated = Object.keys(rest).every((key) => annotations.has(key))
    const [first, ...more] = members
    // A reference stays a reference if it has only annotations beside it.
    if (first?.$ref !== undefined && more.length === 0 && isAnnotated) return { ...first, ...rest }
    return this.#mergeAllOf(rest, members)
  }

  // Merges the members of an `allOf` into one schema, as far as possible.
  #mergeAllOf(rest: Node, members: readonly Node[]): Node {
    const sources: Node[] = []
    const unmerged: Node[] = []
    let merged = rest
    for (const member of members) {
      const target = this.#resolved(member)
      // `unevaluatedProperties` in one member does not see the properties of another.
      const isAlone = members.length === 1 || !isUnevaluating(target)
      const both =
        target &&
        isAlone &&
        intersect(merged, member.$ref === undefined ? target : withoutDocumentation(target))
      if (both) {
        merged = both
        sources.push(target)
      } else unmerged.push(member)
    }
    const all = [...nodesOf(merged.allOf), ...unmerged]
    const schema = { ...merged, ...(all.length > 0 && { allOf: all }) }
    const simplified = simplify(schema, (member) => this.#resolved(member))
    if (sources.length > 0) this.tables.sources.set(simplified, sources)
    return simplified
  }

  // Returns the schema with its reference resolved; undefined if the target contains it.
  #resolved(member: Node): Node | undefined {
    const { $ref, ...siblings } = member
    if (typeof $ref !== 'string') return member
    const target = this.#target($ref)
    const inner = isNode(target) ? this.#resolved(target) : undefined
    return inner && { ...inner, ...siblings }
  }
}

// In an `allOf`, the schema `true` has no effect; among alternatives, `false` has none.
function withoutBooleans(schema: Node): Node {
  const lists = [
    ['allOf', true],
    ['anyOf', false],
    ['oneOf', false],
  ] as const
  const entries = lists.flatMap(([keyword, idle]) => {
    const list: unknown = schema[keyword]
    if (!Array.isArray(list) || list.every(isNode)) return []
    const said = list.filter((each) => each !== idle)
    const all = said.length === 0 && !idle ? [false] : said
    return [[keyword, all.map((each) => (typeof each === 'boolean' ? booleanSchema(each) : each))]]
  })
  return entries.length === 0 ? schema : { ...schema, ...Object.fromEntries(entries) }
}

function booleanSchema(value: boolean): Node {
  return value ? {} : { not: {} }
}

const plainTypes: ReadonlySet<string> = new Set(['integer', 'number', 'boolean'])

// Omits the marked keys, whose values are the defaults.
function omit(node: Node, isOmitted: Readonly<Record<string, boolean>>): Node {
  return filtered(node, (key) => !isOmitted[key])
}

// Renames keys, except those that would become equal.
function renamed(node: Node, rename: (key: string) => string): Node {
  const names = Object.keys(node).map(rename)
  const isUnique = (name: string) => names.indexOf(name) === names.lastIndexOf(name)
  const nameOf = (key: string) => (isUnique(rename(key)) ? rename(key) : key)
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [nameOf(key), value]))
}

// Media types are case-insensitive (RFC 9110, section 8.3.1). JSON has no charset (RFC 8259, section 11);
// other text is in UTF-8 by default.
function mediaType(type: string): string {
  const isDefault = (value: string) => isJson(type) || /^utf-?8$/.test(value)
  const kept = [...parametersOf(type)].filter(([name, value]) => name !== 'charset' || !isDefault(value))
  return [essence(type), ...kept.map((each) => each.join('='))].join('; ')
}
