// Follows references once, where a contract is read: the target of each `$ref` stands where it is used, so no
// reader of a contract meets a `$ref`, and all of them read the same. Schemas keep their `$ref`s: they have
// names, and may contain themselves.

import type { Reference } from '../../document/component-kinds.js'
import type { Problem } from '../../document/contract-error.js'
import { isNode } from '../../document/keywords.js'
import { resolvePointer, valueAt } from '../../document/pointer.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { isOpenApi30 } from '../../document/versions.js'
import { type NodeKind, type Place, type Within, walk } from '../../document/walk.js'

/** Decides if a `$ref` to a component is kept, by the kind of the component. */
export type IsKept = (kind: ReferredKind) => boolean

type ReferredKind = Exclude<NodeKind, 'schemas'>

/**
 * Returns the document with the target of each `$ref` in its place (the same object everywhere), and with the
 * fields beside the `$ref` that count. Three kinds of `$ref` are left: those that lead back to themselves,
 * those that lead nowhere, and those of a callback within a callback, which nothing reads.
 * @param isKept for tools that know components by their names; a component that is itself a `$ref` is not
 * kept
 */
export function resolved(document: object, isKept: IsKept = () => false): object {
  const resolver = new Resolver(document, isKept)
  return walk(document, (value, place, within) => resolver.read(value, place, within)) as object
}

/**
 * Returns a problem for each path item with a field both beside its `$ref` and in its target (3.1, 4.8.9).
 */
export function doubledFields(document: object, references: readonly Reference[]): Problem[] {
  const ofItems = references.filter(({ kind }) => kind === 'pathItems')
  return ofItems.flatMap(({ ref, at }) => {
    const target = nodeOf(resolvePointer(document, ref))
    const both = Object.keys(nodeOf(valueAt(document, at))).find((key) => key !== '$ref' && key in target)
    if (both === undefined) return []
    const place = at.slice(at[0] === 'paths' ? 1 : 0).join('.')
    return [{ text: `${place}: ${both} is defined beside the $ref and in its target: keep one`, at }]
  })
}

// The fields beside a `$ref` that replace those of the target (OpenAPI 3.1.1, section 4.8.23; 4.8.9 for path
// items). The keys of a callback are URLs, so none is such a field. Media types have no `description`.
const textFields: Readonly<Record<Exclude<ReferredKind, 'pathItems'>, readonly string[]>> = {
  examples: ['summary', 'description'],
  responses: ['summary', 'description'],
  parameters: ['description'],
  requestBodies: ['description'],
  headers: ['description'],
  securitySchemes: ['description'],
  links: ['description'],
  callbacks: [],
  mediaTypes: [],
}

/** A place that may have a `$ref`, which is followed. */
interface ReferredPlace extends Place {
  readonly kind: ReferredKind
}

class Resolver {
  readonly #isOld: boolean
  readonly #components: ReadonlySet<unknown>
  /**
   * What was read, by kind and by the number of callbacks around: within a callback, those of others are
   * left.
   */
  readonly #known = new Map<string, Map<object, object>>()
  /** The objects that are being read. */
  readonly #around = new Set<object>()
  #callbacks = 0

  constructor(
    readonly document: object,
    readonly isKept: IsKept,
  ) {
    this.#isOld = isOpenApi30(document)
    const maps = Object.values(nodeOf(nodeOf(document).components))
    this.#components = new Set(maps.flatMap((map) => Object.values(nodeOf(map))))
  }

  read(value: object, place: Place, within: Within): object {
    const { kind } = place
    if (kind === 'schemas') return value
    if (kind === undefined) return within(value, place)
    const known = this.#knownOf(kind)
    const result = known.get(value) ?? this.#whole(value, { ...place, kind }, within)
    known.set(value, result)
    return result
  }

  #knownOf(kind: ReferredKind): Map<object, object> {
    const key = `${kind} ${this.#callbacks}`
    const known = this.#known.get(key) ?? new Map()
    this.#known.set(key, known)
    return known
  }

  #whole(value: object, place: ReferredPlace, within: Within): object {
    const more = place.kind === 'callbacks' ? 1 : 0
    this.#around.add(value)
    const target = this.#callbacks + more > 1 ? undefined : this.#target(value, place, within)
    this.#callbacks += more
    const result = target ?? within(value, place)
    this.#callbacks -= more
    this.#around.delete(value)
    return result
  }

  // Returns undefined for a value without `$ref`, and for a `$ref` that is left. It loops instead of
  // recursing, because a chain of references may have any length.
  #target(value: object, place: ReferredPlace, within: Within): object | undefined {
    const known = this.#knownOf(place.kind)
    const chain = new Set<Node>()
    let target: unknown = value
    while (isNode(target) && isReference(known.get(target) ?? target)) {
      if (chain.has(target)) return undefined
      chain.add(target)
      target = resolvePointer(this.document, String(target.$ref))
      if (this.#isNamed(target, place.kind) && !this.#components.has(value))
        return this.#kept([...chain], place)
    }
    if (target === value || !isNode(target) || this.#around.has(target)) return undefined
    let whole = this.read(target, place, within) as Node // an object, as the target is
    for (const each of [...chain].reverse()) {
      whole = withFields(whole, this.#counting(each, place.kind))
      known.set(each, whole)
    }
    return whole
  }

  #isNamed(target: unknown, kind: ReferredKind): boolean {
    return this.isKept(kind) && this.#components.has(target) && !('$ref' in nodeOf(target))
  }

  #kept(chain: readonly Node[], { kind }: ReferredPlace): Node {
    const fields = chain.toReversed().map((each) => this.#counting(each, kind))
    return { $ref: chain.at(-1)?.$ref, ...Object.assign({}, ...fields) }
  }

  #counting({ $ref: _, ...siblings }: Node, kind: ReferredKind): Node {
    if (kind === 'pathItems') return siblings
    const fields = this.#isOld ? [] : textFields[kind]
    return Object.fromEntries(Object.entries(siblings).filter(([field]) => fields.includes(field)))
  }
}

function isReference(value: object): boolean {
  return typeof nodeOf(value).$ref === 'string'
}

// Returns the same object if there are no fields.
function withFields(node: Node, fields: Node): Node {
  return Object.keys(fields).length === 0 ? node : { ...node, ...fields }
}
