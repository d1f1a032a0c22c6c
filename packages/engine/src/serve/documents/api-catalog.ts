// The API catalogue (RFC 9727): where tools that know only the host find the contract and its documentation.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import type { Address } from '../base/address.js'
import { documentPaths, operationAt } from '../base/own-paths.js'
import { addAsset } from './assets.js'

const type = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/** Adds `/.well-known/api-catalog`, unless that is an operation. */
export function apiCatalog(app: FastifyInstance, contract: Contract, address: Address): void {
  const { catalog, json, yaml, page, text } = documentPaths
  if (operationAt(catalog, contract) !== undefined) return
  const write = (root: string) => {
    const link = (path: string, type: string) => ({ href: root + path, type })
    const api = {
      anchor: address.known ?? root + contract.prefix,
      'service-desc': [link(json, 'application/json'), link(yaml, 'application/yaml')],
      'service-doc': [link(page, 'text/html'), link(text, 'text/plain')],
    }
    return JSON.stringify({ linkset: [api] })
  }
  const rootOf = (request: FastifyRequest) => address.absolute('..', request).replace(/\/$/, '')
  // The links of HEAD are those of the catalogue (RFC 9727, section 2).
  const targets = [`<api-catalog>; rel="api-catalog"`, ...serviceLinks('..')]
  addAsset(app, catalog, type, write, { headers: { Link: targets.join(', ') }, address, variantOf: rootOf })
}

/** Links to the contract and to its page (RFC 8631), from a path whose root is `root`. */
export function serviceLinks(root: string): string[] {
  return [
    `<${root}${documentPaths.json}>; rel="service-desc"; type="application/json"`,
    `<${root}${documentPaths.page}>; rel="service-doc"; type="text/html"`,
  ]
}
