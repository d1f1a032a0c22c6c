// Applies `$self` of OpenAPI 3.2: the URI of a document, and the base of the references in it. Nothing is
// fetched, so `$self` stands for the place of the file: a URI beside it means a file beside the file.

import { mapValues } from '../../document/keywords.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { walk } from '../../document/walk.js'

/**
 * Returns a document in which references relative to `$self` lead into the document, or to a file beside it.
 */
export function withOwnRefs<Document>(document: Document): Document {
  const { $self } = nodeOf(document)
  if (typeof $self !== 'string' || !URL.canParse($self, anywhere)) return document
  const base = new URL($self, anywhere)
  const own = (each: unknown) => (isUri(each) ? ownRef(each, base) : each)
  const converted = walk(document, (value, place, within) => {
    const node = within(value, place) as Node
    if (place.of === 'security' && !Array.isArray(node)) return withKeys(node, own)
    if (place.of === 'mapping') return mapValues(node, own)
    const { $ref, defaultMapping } = node
    if (defaultMapping !== undefined) return { ...node, defaultMapping: own(defaultMapping) }
    return typeof $ref === 'string' && !place.isMap ? { ...node, $ref: ownRef($ref, base) } : node
  })
  return converted as Document
}

// Security requirements and mappings may also have names, and a URI without a fragment cannot be told from a
// name.
function isUri(value: unknown): value is string {
  return typeof value === 'string' && value.includes('#')
}

function withKeys(node: Node, change: (key: string) => unknown): Node {
  return Object.fromEntries(Object.entries(node).map(([key, each]) => [String(change(key)), each]))
}

// A relative `$self` may be of any host.
const anywhere = 'https://self.invalid/'

function ownRef(ref: string, base: URL): string {
  if (!URL.canParse(ref, base.href)) return ref
  const { href, hash } = new URL(ref, base)
  const place = href.slice(0, href.length - hash.length)
  if (place === base.href.replace(/#.*$/, '')) return hash === '' ? '#' : hash
  const folder = new URL('.', base).href
  return place.startsWith(folder) ? `./${place.slice(folder.length)}${hash}` : ref
}
