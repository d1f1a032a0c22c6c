// Replaces URIs in security requirements by names. OpenAPI 3.2 (section 4.30.1) allows the URI of a scheme,
// but all readers know names: each URI becomes the name of its component, or of a component that is added for
// it.

import { pointerKeys } from '../../document/pointer.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { isOpenApi32 } from '../../document/versions.js'
import { walk } from '../../document/walk.js'

/** Returns a document whose security requirements have only names; returns any other value unchanged. */
export function withSchemeNames<Document>(document: Document): Document {
  if (!isOpenApi32(nodeOf(document))) return document
  const { components, ...others } = nodeOf(document)
  const names = new Names(nodeOf(nodeOf(components).securitySchemes))
  const convert = (part: object) =>
    walk(part, (value, place, within) =>
      place.of === 'security' && !Array.isArray(value) ? names.namedIn(value) : within(value, place),
    )
  const read = convert(others) as Node
  const parts = convert({ components }) as Node
  if (!names.isChanged) return document
  const all = { ...nodeOf(parts.components), securitySchemes: names.schemes() }
  return { ...nodeOf(document), ...read, components: all } as Document // with the same fields
}

class Names {
  readonly #declared: Node
  // Names by URI.
  readonly #added = new Map<string, string>()
  isChanged = false

  constructor(declared: Node) {
    this.#declared = declared
  }

  /** Returns a Security Requirement Object with names. */
  namedIn(requirement: object): object {
    return Object.fromEntries(Object.entries(requirement).map(([key, scopes]) => [this.#nameOf(key), scopes]))
  }

  /** Returns the declared schemes, and those that were added for URIs. */
  schemes(): Node {
    const added = [...this.#added].map(([$ref, name]) => [name, { $ref }])
    return { ...this.#declared, ...Object.fromEntries(added) }
  }

  // A key that is the name of a component is always a name, even if it looks like a URI.
  #nameOf(key: string): string {
    if (Object.hasOwn(this.#declared, key) || !/[#/:]/.test(key)) return key
    this.isChanged = true
    const [, kind, name, ...more] = key.startsWith('#/components/') ? (pointerKeys(key) ?? []) : []
    if (kind === 'securitySchemes' && name !== undefined && more.length === 0) return name
    const known = this.#added.get(key) ?? this.#free(key.replace(/^.*[#/:]/, '').replace(/[^\w.-]/g, '_'))
    this.#added.set(key, known)
    return known
  }

  #free(name: string): string {
    const isTaken = Object.hasOwn(this.#declared, name) || [...this.#added.values()].includes(name)
    return isTaken ? this.#free(`${name}_`) : name
  }
}
