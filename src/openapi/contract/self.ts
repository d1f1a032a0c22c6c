// `$self` of OpenAPI 3.2: the URI of a document, and the base of the references in it. Nothing is fetched, so
// it stands for the place of the file: what is beside it there is beside the file.

import { mapMembers, outermost } from './keywords.js'
import { type Node, nodeOf } from './reader.js'

/** A document whose references by `$self` are those within it, or to the files beside it. */
export function withOwnRefs<Document>(document: Document): Document {
  const { $self } = nodeOf(document)
  if (typeof $self !== 'string' || !URL.canParse($self, anywhere)) return document
  const base = new URL($self, anywhere)
  const convert = (value: unknown, nesting = outermost): unknown => {
    if (nesting.isData || typeof value !== 'object' || value === null) return value
    const node = mapMembers(value, nesting, convert) as Node
    const { $ref } = node
    return typeof $ref === 'string' && !nesting.isMap ? { ...node, $ref: ownRef($ref, base) } : node
  }
  return convert(document) as Document
}

// A relative `$self` is one of any host.
const anywhere = 'https://self.invalid/'

function ownRef(ref: string, base: URL): string {
  if (!URL.canParse(ref, base.href)) return ref
  const { href, hash } = new URL(ref, base)
  const place = href.slice(0, href.length - hash.length)
  if (place === base.href.replace(/#.*$/, '')) return hash === '' ? '#' : hash
  const folder = new URL('.', base).href
  return place.startsWith(folder) ? `./${place.slice(folder.length)}${hash}` : ref
}
