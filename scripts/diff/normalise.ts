// One way of writing for what OpenAPI and JSON Schema let be written in several, so that the rules find a difference only
// where callers would. Each part of a document is rewritten by what it is; what callers read as text stays as it is.

import { toSchema31 } from '../../src/contract/upgrade.js'
import { isNode, type Node } from './node.js'
import { lookUp } from './pointer.js'
import { annotations, intersect, simplify, withoutChoice, wordless } from './simplify.js'

/** What is known of documents that were rewritten. */
export interface Tables {
  /** How names of headers are written, by the name in lower case. */
  readonly spellings: Map<string, string>
  /** By document, what each local `$ref` leads to. */
  readonly targets: WeakMap<Node, ReadonlyMap<string, unknown>>
  /** By mapping, the one of the document as it was written. */
  readonly origins: WeakMap<Node, Node>
  /** By mapping, those that were put together to make it. */
  readonly sources: WeakMap<Node, readonly Node[]>
}

// What a part of a document holds, by key. `*` marks a mapping by names.
const shapes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  document: { paths: 'item*', webhooks: 'item*', components: 'components' },
  components: {
    ...{ schemas: 'schema*', responses: 'response*', parameters: 'parameter*', headers: 'part*' },
    ...{ requestBodies: 'body*', pathItems: 'item*', callbacks: 'item**', securitySchemes: 'scheme*' },
  },
  item: {
    parameters: 'parameter',
    ...named('operation', 'get put post delete options head patch trace'),
  },
  operation: { parameters: 'parameter', requestBody: 'body', responses: 'answer*', callbacks: 'item**' },
  parameter: { schema: 'schema', content: 'media*' },
  // A header is a parameter whose name is its key.
  part: { schema: 'schema', content: 'media*' },
  body: { content: 'media*' },
  response: { headers: 'header*', content: 'media*' },
  answer: { headers: 'header*', content: 'media*' },
  header: { schema: 'schema', content: 'media*' },
  media: { schema: 'schema', encoding: 'encoding*' },
  encoding: { headers: 'header*' },
  schema: {
    ...named('schema*', 'properties patternProperties dependentSchemas $defs'),
    ...named('schema', 'allOf anyOf oneOf not if then else prefixItems items contains unevaluatedItems'),
    ...named('schema', 'additionalProperties unevaluatedProperties propertyNames'),
  },
}

function named(kind: string, keys: string): Readonly<Record<string, string>> {
  return Object.fromEntries(keys.split(' ').map((key) => [key, kind]))
}

/**
 * Rewrites a document, and notes in the tables where its parts came from. Documents that are compared share them.
 * @throws {DiffError} where a `$ref` leads nowhere
 */
export function normalise(document: Node, tables: Tables): Node {
  const normaliser = new Normaliser(document, tables)
  const made = normaliser.convert(document, 'document') as Node
  tables.targets.set(made, normaliser.targets())
  return made
}

class Normaliser {
  readonly #targets = new Map<string, unknown>()
  readonly #known = new Map<Node, unknown>()
  /** What is being rewritten: a schema cannot be put together with one that it is inside of. */
  readonly #open = new Set<unknown>()
  readonly #refs = new Map<string, string>()

  readonly #isOld: boolean

  constructor(
    readonly document: Node,
    readonly tables: Tables,
  ) {
    this.#isOld = String(document.openapi).startsWith('3.0')
  }

  convert(value: unknown, kind: string): unknown {
    if (Array.isArray(value)) return value.map((each) => this.convert(each, kind))
    if (!isNode(value) || this.#known.has(value)) return isNode(value) ? this.#known.get(value) : value
    this.#open.add(value)
    const entries = Object.entries(this.#isOld && kind === 'schema' ? toSchema31(value) : value).map(
      ([key, each]) => {
        const inner = kind.endsWith('*') ? kind.slice(0, -1) : shapes[kind]?.[key]
        return [key, inner === undefined ? each : this.convert(each, inner)]
      },
    )
    const isReference = typeof value.$ref === 'string'
    if (isReference) this.#refs.set(String(value.$ref), kind)
    const copy: Node = Object.fromEntries(entries)
    const made = isReference && kind !== 'schema' ? copy : this.#rewritten(copy, kind)
    this.#open.delete(value)
    this.#known.set(value, made)
    this.tables.origins.set(made, value)
    return made
  }

  /** Rewrites what references lead to, however far. */
  targets(): ReadonlyMap<string, unknown> {
    // A map is walked to its end, with what is added on the way.
    for (const ref of this.#refs.keys()) this.#target(ref)
    return this.#targets
  }

  #target(ref: string): unknown {
    if (this.#targets.has(ref)) return this.#targets.get(ref)
    const value = lookUp(this.document, ref)
    if (this.#open.has(value)) return undefined
    const made = this.convert(value, this.#refs.get(ref) ?? 'schema')
    this.#targets.set(ref, made)
    return made
  }

  #rewritten(node: Node, kind: string): Node {
    switch (kind) {
      case 'schema':
        return this.#schema(node)
      case 'parameter':
      case 'header':
      case 'part':
        return this.#parameter(node, kind)
      case 'scheme':
        return this.#scheme(node)
      case 'operation':
        return without(node, ({ deprecated }) => ({ deprecated: deprecated === false }))
      case 'body':
        return without(node, ({ required }) => ({ required: required === false }))
      case 'header*':
        return this.#headers(node)
      case 'answer*':
        return renamed(node, (status) => (/^[1-5]xx$/i.test(status) ? status.toUpperCase() : status))
      case 'media*':
        return renamed(node, mediaType)
      default:
        return node
    }
  }

  // Names of headers are alike in any case (RFC 9110, section 5.1).
  #spelling(name: string): string {
    const lower = name.toLowerCase()
    const known = this.tables.spellings.get(lower) ?? name
    this.tables.spellings.set(lower, known)
    return known
  }

  // The type of an answer is said by `content` (OpenAPI 3.1, section 4.8.17.1).
  #headers(node: Node): Node {
    const { [this.#spelling('Content-Type')]: _, ...others } = renamed(node, (name) => this.#spelling(name))
    return others
  }

  // OpenAPI 3.1, section 4.8.12.2.1: the defaults.
  #parameter(node: Node, kind: string): Node {
    const isForm = ['query', 'cookie'].includes(String(node.in))
    const { style = isForm ? 'form' : 'simple' } = node
    const copy = without(node, ({ explode, ...others }) => ({
      style: others.content !== undefined || style === (isForm ? 'form' : 'simple'),
      explode: others.content !== undefined || explode === (style === 'form'),
      ...Object.fromEntries(
        ['required', 'deprecated', 'allowReserved', 'allowEmptyValue'].map((key) => [
          key,
          others[key] === false,
        ]),
      ),
    }))
    return kind === 'parameter' && copy.in === 'header'
      ? { ...copy, name: this.#spelling(String(copy.name)) }
      : copy
  }

  // RFC 9110, section 11.1: names of schemes are alike in any case.
  #scheme(node: Node): Node {
    const { scheme, name } = node
    return {
      ...node,
      ...(typeof scheme === 'string' && { scheme: scheme.toLowerCase() }),
      ...(node.in === 'header' && { name: this.#spelling(String(name)) }),
    }
  }

  #schema(node: Node): Node {
    if (this.#isOld && node.$ref !== undefined) return { $ref: node.$ref }
    const schema = withoutChoice(node, (member) => this.#resolved(member))
    const { $ref, allOf, ...rest } = schema
    const members = [
      ...($ref === undefined ? [] : [{ $ref }]),
      ...(Array.isArray(allOf) ? allOf : []),
    ].filter(isNode)
    const isWords = Object.keys(rest).every((key) => annotations.has(key))
    const [first, ...more] = members
    if (first?.$ref !== undefined && more.length === 0 && isWords) return { ...first, ...rest }
    return this.#together(rest, members)
  }

  // `allOf`, as one schema where one can say it.
  #together(rest: Node, members: readonly Node[]): Node {
    const sources: Node[] = []
    let [whole, left]: [Node, Node[]] = [rest, []]
    for (const member of members) {
      const target = this.#resolved(member)
      const both = target && intersect(whole, member.$ref === undefined ? target : wordless(target))
      if (both) whole = both
      else left = [...left, member]
      if (both && target) sources.push(target)
    }
    const made = simplify({ ...whole, ...(left.length > 0 && { allOf: left }) }, (member) =>
      this.#resolved(member),
    )
    if (sources.length > 0) this.tables.sources.set(made, sources)
    return made
  }

  // What a schema says; nothing where it is inside of itself.
  #resolved(member: Node): Node | undefined {
    const { $ref, ...siblings } = member
    if (typeof $ref !== 'string') return member
    const target = this.#target($ref)
    const inner = isNode(target) ? this.#resolved(target) : undefined
    return inner && { ...inner, ...siblings }
  }
}

// A mapping without the keys that say what their absence says.
function without(node: Node, idle: (node: Node) => Readonly<Record<string, boolean>>): Node {
  const keys = idle(node)
  return Object.fromEntries(Object.entries(node).filter(([key]) => keys[key] !== true))
}

// A mapping under other names. Where two become one, both stay as they were.
function renamed(node: Node, name: (key: string) => string): Node {
  const names = Object.keys(node).map(name)
  const isClear = (key: string) => names.indexOf(name(key)) === names.lastIndexOf(name(key))
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [isClear(key) ? name(key) : key, value]),
  )
}

// RFC 9110, section 8.3.1; JSON has no charset (RFC 8259, section 11), and the charset of other text is UTF-8 by default.
function mediaType(type: string): string {
  const [essence = '', ...parameters] = type.split(';').map((part) => part.trim())
  const name = essence.toLowerCase()
  const isJson = /[/+]json$/.test(name)
  const kept = parameters.filter((each) => !(isJson ? /^charset=/i : /^charset="?utf-8"?$/i).test(each))
  return [name, ...kept].join('; ')
}
