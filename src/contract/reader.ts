// Looks into the document, follows its references, and gathers what is wrong with it.

import { oneLine } from '../lib/one-line.js'
import type { Pointer, Problem } from './contract-error.js'
import { lookUp } from './pointer.js'
import { dataKeywords, mapKeywords } from './upgrade.js'

/** Any mapping of the document: it is read before it is known to be right, so any part may be missing. */
export interface Node {
  readonly [key: string]: unknown
}

/** A part as a mapping; what is none, such as a schema that is `true`, as an empty one. */
export function nodeOf(value: unknown): Node {
  return typeof value === 'object' && value !== null ? (value as Node) : {}
}

/** The document under inspection. */
export class Reader {
  readonly #problems = new Map<string, Problem>()
  readonly #left = new Set<string>()
  readonly #followed = new Set<string>()
  readonly #inlined = new Map<string, unknown>()
  #turns = 0
  readonly document: Node
  #at: Pointer = []
  #unread: string[] = []

  constructor(document: object) {
    this.document = document as Node
  }

  /** What was found so far, each problem once. */
  get problems(): readonly Problem[] {
    return [...this.#problems.values()]
  }

  /** Notes what is wrong, in words that name the place, at the part that is being read. */
  problem(given: string): void {
    const text = oneLine(given)
    if (!this.#problems.has(text)) this.#problems.set(text, { text, at: this.#at })
  }

  /** Reads a part of the document: problems that are noted meanwhile are problems of that part. */
  within<Result>(at: Pointer, read: () => Result): Result {
    const outer = this.#at
    this.#at = at
    try {
      return read()
    } finally {
      this.#at = outer
    }
  }

  /** Reads a part of the document, and tells beside it what was noted meanwhile that the server could not read. */
  gather<Result>(read: () => Result): { readonly result: Result; readonly unread: readonly string[] } {
    const outer = this.#unread
    this.#unread = []
    try {
      return { result: read(), unread: this.#unread }
    } finally {
      this.#unread = outer
    }
  }

  /** Notes what is declared and the server could not read or write. */
  unread(text: string): void {
    this.#unread.push(oneLine(text))
  }

  /** What is declared and was left out so far, each once. */
  get left(): readonly string[] {
    return [...this.#left]
  }

  /** Notes what the server leaves out and can be used without. */
  leave(text: string): void {
    this.#left.add(oneLine(text))
  }

  /** The components of the document. */
  get components(): Node {
    return this.node(this.document.components)
  }

  /** A mapping, with its `$ref` followed; an absent one reads as empty. */
  node(value: unknown, refs: readonly string[] = []): Node {
    if (typeof value !== 'object' || value === null) return {}
    const { $ref } = value as Node
    if (typeof $ref !== 'string') return value as Node
    if (!refs.includes($ref)) return this.node(this.#resolve($ref), [...refs, $ref])
    this.problem(`$ref ${$ref} leads back to itself`)
    return {}
  }

  /** A list, whose items may be references; an absent one reads as empty. */
  list(value: unknown): Node[] {
    return Array.isArray(value) ? value.map((each) => this.node(each)) : []
  }

  /**
   * A schema with what it refers to in its place, the same object at each; an absent one takes anything, as does one within itself.
   */
  inlined(value: unknown, refs: readonly string[] = []): unknown {
    if (Array.isArray(value)) return value.map((each) => each && this.inlined(each, refs))
    if (typeof value !== 'object' || value === null) return value ?? {}
    const { $ref } = value as Node
    if (typeof $ref === 'string') return this.#inlinedAt($ref, refs)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, each && this.inlined(each, refs)]),
    )
  }

  // One that leads back to what it stands in differs from place to place.
  #inlinedAt(ref: string, refs: readonly string[]): unknown {
    if (refs.includes(ref)) {
      this.#turns++
      return {}
    }
    const turns = this.#turns
    const inlined = this.#inlined.get(ref) ?? this.inlined(this.#resolve(ref), [...refs, ref])
    if (this.#turns === turns) this.#inlined.set(ref, inlined)
    return inlined
  }

  /** Follows the references of a schema, and of what these lead to. */
  follow(value: unknown, isMap = false): void {
    if (typeof value !== 'object' || value === null) return
    const { $ref } = value as Node
    if (typeof $ref === 'string' && !this.#followed.has($ref)) {
      this.#followed.add($ref)
      this.follow(this.#resolve($ref))
    }
    for (const [key, each] of Object.entries(value))
      if (isMap || !dataKeywords.has(key)) this.follow(each, !isMap && mapKeywords.has(key))
  }

  /** Numbers of things: whole and above 0. */
  counts<Name extends string>(place: string, value: unknown, names: readonly Name[]): Record<Name, number> {
    const node = this.node(value)
    if (!names.every((name) => Number.isSafeInteger(node[name]) && (node[name] as number) > 0)) {
      this.problem(`${place} needs ${names.join(' and ')}, whole numbers above 0`)
    }
    this.only(place, node, names)
    return node as Record<Name, number>
  }

  /** What the server would pass over in an extension of its own. */
  only(place: string, node: Node, names: readonly string[]): void {
    const other = Object.keys(node).find((name) => !names.includes(name) && !name.startsWith('x-'))
    if (other !== undefined) this.problem(`${place} has ${other}, but knows only ${names.join(', ')}`)
  }

  #resolve(ref: string): unknown {
    const target = lookUp(this.document, ref)
    if (target === undefined) this.problem(`$ref ${ref} leads nowhere`)
    return target
  }
}
