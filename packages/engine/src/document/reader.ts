// Reads parts of the document, following `$ref`s, and collects problems, unsupported declarations and
// warnings.

import { oneLine } from '../lib/texts.js'
import { isOfSchema } from './component-kinds.js'
import type { Pointer, Problem } from './contract-error.js'
import { resolvePointer } from './pointer.js'
import { walk } from './walk.js'

/** An object of the document. It is read before it is validated, so any member may be missing. */
export interface Node {
  readonly [key: string]: unknown
}

/** What may be wrong with a part: for each fault, if the part has it, and the sentence about it. */
export type Faults = readonly (readonly [isFault: boolean, text: string])[]

/** Returns the sentences of the faults that a part has. */
export function found(faults: Faults): string[] {
  return faults.filter(([isFault]) => isFault).map(([, text]) => text)
}

/** Returns a value as an object; anything else, such as the schema `true`, as an empty one. */
export function nodeOf(value: unknown): Node {
  return typeof value === 'object' && value !== null ? (value as Node) : {}
}

/** Returns the items of an array as objects; for anything else, no items. */
export function nodesOf(value: unknown): Node[] {
  return Array.isArray(value) ? value.map(nodeOf) : []
}

// Each reference nests the dereferenced schema deeper, and so the recursion of its readers.
const refsMax = 100

// Returns the `$ref`s anywhere in a schema.
function refsIn(schema: unknown): string[] {
  const found: string[] = []
  walk(schema, (value, place, within) => {
    const { $ref } = value as Node
    if (typeof $ref === 'string') found.push($ref)
    return within(value, place)
  })
  return found
}

/** Returns the message about a `$ref` that resolves to itself. */
export function circular(document: object, ref: string): string {
  const hint = isOfSchema(document, ref) ? ': a schema can recurse only through a property or an item' : ''
  return `$ref ${ref} refers back to itself${hint}`
}

/** Reads a document, and keeps what was found in it so far. */
export class Reader {
  readonly document: Node
  readonly #problems = new Map<string, Problem>()
  readonly #warnings = new Map<string, Problem>()
  readonly #checkedRefs = new Set<string>()
  readonly #targets = new Map<string, unknown>()
  readonly #dereferenced = new Map<string, unknown>()
  #cycles = 0
  #at: Pointer = []
  #unsupported: string[] = []

  /**
   * @param extensions that the engine does not know, but others read
   * @param version of OpenAPI in which the document was written
   */
  constructor(
    document: object,
    readonly extensions: {
      readonly ofDocument: readonly string[]
      readonly ofOperation: readonly string[]
    } = { ofDocument: [], ofOperation: [] },
    readonly version = String((document as Node).openapi),
  ) {
    this.document = document as Node
  }

  /** The problems so far, each once. */
  get problems(): readonly Problem[] {
    return [...this.#problems.values()]
  }

  /** The warnings so far, each once. */
  get warnings(): readonly Problem[] {
    return [...this.#warnings.values()]
  }

  /**
   * Adds a problem of the part that is being read. The message names the place in words.
   * @param other the place of another part that the problem is about
   */
  problem(message: string, other?: Pointer): void {
    this.#add(this.#problems, message, other)
  }

  /** Adds a declaration that the server does not support: the operation can have a stub, but no handler. */
  unsupported(message: string): void {
    this.#unsupported.push(oneLine(message))
  }

  /** Adds a warning: the server ignores or adds something, and still serves the operation. */
  warn(message: string): void {
    this.#add(this.#warnings, message)
  }

  #add(found: Map<string, Problem>, message: string, other?: Pointer): void {
    const text = oneLine(message)
    if (!found.has(text)) found.set(text, { text, at: this.#at, ...(other !== undefined && { other }) })
  }

  /** Reads a part of the document. Problems that `read` adds get its location. */
  within<Result>(at: Pointer, read: () => Result): Result {
    const outer = this.#at
    this.#at = at
    try {
      return read()
    } finally {
      this.#at = outer
    }
  }

  /** Returns the result of `read`, and the unsupported declarations that it added. */
  collectUnsupported<Result>(read: () => Result): {
    readonly result: Result
    readonly unsupported: readonly string[]
  } {
    const outer = this.#unsupported
    this.#unsupported = []
    try {
      return { result: read(), unsupported: this.#unsupported }
    } finally {
      this.#unsupported = outer
    }
  }

  /** The Components Object. */
  get components(): Node {
    return this.node(this.document.components)
  }

  /** Returns an object, with its `$ref` followed; an empty object for an absent one. */
  node(value: unknown): Node {
    const { $ref } = nodeOf(value)
    return nodeOf(typeof $ref === 'string' ? this.#follow($ref) : value)
  }

  /** True if a schema is `false`, by itself or by its `$ref`: no value matches it. */
  isFalse(schema: unknown): boolean {
    const { $ref } = nodeOf(schema)
    return (typeof $ref === 'string' ? this.#follow($ref) : schema) === false
  }

  /** Returns the objects of an array whose items may be references; an absent array reads as empty. */
  list(value: unknown): Node[] {
    return Array.isArray(value) ? value.map((each) => this.node(each)) : []
  }

  /**
   * Returns a schema with each `$ref` replaced by its target, the same object everywhere. An absent schema,
   * and a schema that contains itself, become `{}`.
   */
  dereferenced(value: unknown, refs: readonly string[] = []): unknown {
    return walk(value ?? {}, (each, place, within) => {
      const { $ref } = each as Node
      return typeof $ref === 'string' ? this.#target($ref, refs) : within(each, place)
    })
  }

  // The result is cached, unless a cycle was cut off: then it depends on where the cycle was entered.
  #target(ref: string, refs: readonly string[]): unknown {
    const isEndless = refs.includes(ref)
    if (isEndless || refs.length === refsMax) {
      if (!isEndless) this.unsupported(`$ref ${refs[0]} leads through more than ${refsMax} others`)
      this.#cycles++
      return {}
    }
    const cycles = this.#cycles
    const target = this.#dereferenced.get(ref) ?? this.dereferenced(this.#follow(ref), [...refs, ref])
    if (this.#cycles === cycles) this.#dereferenced.set(ref, target)
    return target
  }

  /** Adds a problem for each `$ref` of a schema, direct or indirect, that does not resolve. */
  checkRefs(schema: unknown): void {
    const pending = [schema]
    while (pending.length > 0) {
      for (const ref of refsIn(pending.pop())) {
        if (this.#checkedRefs.has(ref)) continue
        this.#checkedRefs.add(ref)
        pending.push(this.#resolve(ref))
      }
    }
  }

  /** Reads an object that must have integers above 0 under the given names, and no other names. */
  positiveIntegers<Name extends string>(
    place: string,
    value: unknown,
    names: readonly Name[],
  ): Record<Name, number> {
    const node = this.node(value)
    const wrong = names.filter((name) => !Number.isSafeInteger(node[name]) || (node[name] as number) <= 0)
    if (wrong.length > 0) {
      const kind = wrong.length > 1 ? 'integers' : 'an integer'
      this.problem(`${place}: ${wrong.join(' and ')} must be ${kind} above 0`)
    }
    this.allowOnly(place, node, names)
    return node as Record<Name, number>
  }

  /** Adds a problem for a field of an extension that the server does not read. */
  allowOnly(place: string, node: Node, names: readonly string[]): void {
    const other = Object.keys(node).find((name) => !names.includes(name) && !name.startsWith('x-'))
    if (other !== undefined)
      this.problem(`${place}: unknown field ${other}: the fields are ${names.join(', ')}`)
  }

  // Returns the target of a reference. A target that is a reference is followed.
  #follow(ref: string): unknown {
    const refs = new Set<string>()
    let target: unknown = { $ref: ref }
    while (typeof nodeOf(target).$ref === 'string') {
      const next = String(nodeOf(target).$ref)
      target = refs.has(next) ? this.problem(circular(this.document, next)) : this.#resolve(next)
      refs.add(next)
    }
    return target
  }

  #resolve(ref: string): unknown {
    const target = this.#targets.get(ref) ?? resolvePointer(this.document, ref)
    if (target === undefined) this.problem(`cannot resolve $ref ${ref}`)
    else this.#targets.set(ref, target)
    return target
  }
}
