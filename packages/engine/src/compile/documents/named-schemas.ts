// Moves schemas out of components that another version of OpenAPI does not have: each schema with a reference
// to it becomes a component of its own, so that the reference keeps its target.

import { referencesIn } from '../../document/component-kinds.js'
import { isNode, mapValues } from '../../document/keywords.js'
import { pointerTo, resolvePointer } from '../../document/pointer.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { walk } from '../../document/walk.js'

/** Returns the document with no reference to a schema within the components of a kind. */
export function withNamedSchemas(document: object, kind: 'mediaTypes' | 'pathItems'): object {
  const found = referencesIn(document).filter((each) => each.kind === 'schemas')
  const refs = found.map(({ ref }) => ref).filter((ref) => ref.startsWith(`#/components/${kind}/`))
  if (refs.length === 0) return document
  const { schemas } = nodeOf(nodeOf(document).components)
  const taken = new Set(Object.keys(nodeOf(schemas)))
  const places = new Map([...new Set(refs)].map((ref) => [ref, placeOf(ref, kind, taken)]))
  const copy = withRefs(document, places) as Node
  const made = [...places].map(([ref, place]) => [place.split('/').at(-1), resolvePointer(copy, ref)])
  const all = { ...nodeOf(nodeOf(copy.components).schemas), ...Object.fromEntries(made) }
  return { ...copy, components: { ...nodeOf(copy.components), schemas: all } }
}

function placeOf(ref: string, kind: string, taken: Set<string>): string {
  const words = ref.slice(`#/components/${kind}/`.length).split(/~1|[^A-Za-z0-9]+/)
  let name = words.filter(Boolean).join('_')
  while (taken.has(name)) name += '_'
  taken.add(name)
  return pointerTo(['components', 'schemas', name])
}

function withRefs(document: object, places: ReadonlyMap<string, string>): unknown {
  const moved = (ref: unknown) => places.get(String(ref)) ?? ref
  return walk(document, (value, place, within) => {
    const node = within(value, place) as Node
    const { $ref, discriminator } = node
    if (place.isMap) return node
    if (typeof $ref === 'string') return { ...node, $ref: moved($ref) }
    const { mapping } = nodeOf(discriminator)
    return isNode(mapping)
      ? { ...node, discriminator: { ...nodeOf(discriminator), mapping: mapValues(mapping, moved) } }
      : node
  })
}
