// The contract of references-document.ts, inline and with every kind of `$ref`. No reader may tell them
// apart.

import path from 'node:path'
import type { Contract } from 'contract-engine'
import { readContract } from 'contract-engine/compile'
import { type Node, type NodeKind, pathOf, pointerTo, walk } from 'contract-engine/tools'
import { parse, stringify } from 'yaml'
import { text } from './references-document.js'

type Part = Exclude<NodeKind, 'schemas'>
/** Returns the replacement of an object: the object itself, or a `$ref` to its new place. */
type Written = (value: unknown, kind: Part, at: readonly string[]) => unknown

/** The inline contract. */
export const inline: Node = parse(text)

/** The kinds of objects that may be a `$ref`. */
export const kinds: readonly Part[] = [
  ...(['responses', 'parameters', 'examples', 'requestBodies', 'headers', 'securitySchemes'] as const),
  ...(['links', 'callbacks', 'pathItems', 'mediaTypes'] as const),
]

// Rewrites from the inside out, so that the parts of an object are written before it.
function rewritten(document: object, written: Written): unknown {
  return walk(document, (value, place, within) => {
    const copy = within(value, place)
    const { kind } = place
    return kind === undefined || kind === 'schemas' ? copy : written(copy, kind, pathOf(place).map(String))
  })
}

/** A form of a document: its files, beginning with the document itself. */
type Files = readonly (readonly [name: string, document: unknown])[]

function byComponents(
  document: Node,
  isMoved: (kind: Part) => boolean,
  prefix = '',
  isChained = false,
): Node {
  const made: Record<string, Record<string, unknown>> = {}
  const copy = rewritten(document, (value, kind, at) => {
    if (!isMoved(kind) || (at[0] === 'components' && kind !== 'securitySchemes')) return value
    const own = made[kind] ?? {}
    made[kind] = own
    const known = Object.entries(own).find(([, each]) => JSON.stringify(each) === JSON.stringify(value))
    const name = known?.[0] ?? `Part${Object.keys(own).length}`
    own[name] = value
    if (isChained) own[`To${name}`] = { $ref: `${prefix}#/components/${kind}/${name}` }
    return { $ref: `${prefix}#/components/${kind}/${isChained ? 'To' : ''}${name}` }
  }) as Node
  const components = copy.components as Node
  const added = Object.entries(made).map(([kind, own]) => [kind, { ...(components[kind] as Node), ...own }])
  return { ...copy, components: { ...components, ...Object.fromEntries(added) } }
}

// Of two equal objects, the second becomes a `$ref` to the first.
function byPointers(document: Node): Node {
  const places = new Map<string, readonly string[]>()
  const copy = rewritten(document, (value, kind, at) => {
    const key = `${kind} ${JSON.stringify(value)}`
    const first = places.get(key)
    if (first === undefined) places.set(key, at)
    return first === undefined ? value : { $ref: pointerTo(first) }
  })
  return copy as Node
}

// Each object becomes a file; schemas stay in their places.
function byFiles(document: Node): Files {
  const files = new Map<string, unknown>()
  const root = rewritten(document, (value, kind, at) => {
    if (at[0] === 'components' && kind !== 'securitySchemes') return value
    const name = `${kind}-${files.size}.yaml`
    files.set(name, JSON.parse(JSON.stringify(value).replaceAll('"#/', '"openapi.yaml#/')))
    return { $ref: `./${name}` }
  })
  return [['openapi.yaml', root], ...files]
}

const $self = 'https://shop.example/api/openapi.yaml'
const all = () => true
/** Each kind of object alone as references, then all kinds in different ways. */
export const forms: readonly (readonly [title: string, filesOf: (document: Node) => Files])[] = [
  ...kinds.map((kind) => {
    const isIt = (each: Part) => each === kind
    return [`by components.${kind}`, (document: Node) => one(byComponents(document, isIt))] as const
  }),
  ['by components of every kind', (document) => one(byComponents(document, all))],
  ['by components that are references', (document) => one(byComponents(document, all, '', true))],
  ['by JSON pointers', (document) => one(byPointers(document))],
  ['by other files', byFiles],
  ['by the URI of the document', (document) => one(byComponents({ $self, ...document }, all, $self))],
  ['relative to $self', (document) => one(byComponents({ $self, ...document }, all, 'openapi.yaml'))],
]

/** Returns a document as its only file. */
export function one(document: Node): Files {
  return [['openapi.yaml', document]]
}

export function contractOf(files: Files): Promise<Contract> {
  const texts = new Map(files.map(([name, each]) => [name, stringify(each)]))
  return readContract('openapi.yaml', async (file) => texts.get(path.basename(file)) ?? '')
}
