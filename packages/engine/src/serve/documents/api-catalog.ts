// The API catalogue (RFC 9727), through which tools that know only the host find the contract and its
// documentation.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { encoded, resolveReference } from '../../lib/relative-references.js'
import type { Address } from '../paths/address.js'
import { documentPaths } from '../paths/own-paths.js'
import { addDocument, type DocumentPlace, documentPlaces, ownServerOf } from './document-place.js'

const type = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/**
 * Adds a contract to `/.well-known/api-catalog`, unless an operation is there. All contracts of a scope share
 * the catalogue at the scope's root, because tools look for it there.
 */
export function apiCatalog(app: FastifyInstance, contract: Contract, address: Address): void {
  const places = documentPlaces(app)
  const isFirst = places.every((each) => each.address === undefined)
  for (const each of places) if (each.contract === contract) each.address = address
  if (!isFirst) return
  const write = (root: string) =>
    JSON.stringify({ linkset: places.flatMap((each) => linksOf(app, each, root)) })
  const rootOf = (request: FastifyRequest) => address.absolute('..', request).replace(/\/$/, '')
  // HEAD gets the links of the catalogue (RFC 9727, section 2).
  const targets = [`<api-catalog>; rel="api-catalog"`, ...serviceLinks('..')]
  const headers = { Link: targets.join(', ') }
  addDocument(app, contract, documentPaths.catalog, type, write, { headers, address, variantOf: rootOf })
}

function linksOf(app: FastifyInstance, place: DocumentPlace, root: string) {
  const { contract, address } = place
  if (address === undefined) return []
  const folder = root + encoded(place.folder)
  const operations = resolveReference(ownServerOf(app, place)(contract).url, `${folder}/`)
  const { json, yaml, page, text } = documentPaths
  const link = (path: string, type: string) => ({ href: folder + path, type })
  return [
    {
      anchor: address.known ?? operations.replace(/\/$/, ''),
      'service-desc': [link(json, 'application/json'), link(yaml, 'application/yaml')],
      'service-doc': [link(page, 'text/html'), link(text, 'text/plain')],
    },
  ]
}

/** Returns links to the contract and to its page (RFC 8631), relative to a path whose root is `root`. */
export function serviceLinks(root: string): string[] {
  return [
    `<${root}${documentPaths.json}>; rel="service-desc"; type="application/json"`,
    `<${root}${documentPaths.page}>; rel="service-doc"; type="text/html"`,
  ]
}
