// Writes the contract as a file. A build does so, and a server has the texts in its plan.

import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'lossless-json'
import { isSeq } from 'yaml'
import type { Contract, FileForm, FileServers } from '../../document/contract.js'
import { isRelativeServer, ownServer, type ServerObject } from '../../document/own-server.js'
import { nodeOf } from '../../document/reader.js'
import { withOwnRefs } from '../source/self.js'
import { toDocument, toYaml, written } from '../source/yaml-text.js'
import { toOpenApi30 } from './openapi-3.0.js'
import { withoutOpenApi32 } from './openapi-3.1.js'

// Tools that only support OpenAPI 3.0 may have simple YAML parsers, so no lines are folded.
const simpleYaml = { blockQuote: 'literal', lineWidth: 0 } as const

interface Written extends Pick<Contract, 'document' | 'mark' | 'prefix'> {
  /** The document as written. */
  readonly text: string
}

/** See `Contract`, `write`. */
export function writeFile(contract: Written, form: FileForm, place: FileServers): string {
  const own = { ...ownServer(contract), url: contract.mark }
  const written = (nodeOf(contract.document).servers ?? []) as ServerObject[] // the contract has been read
  const isLeft = (each: ServerObject) =>
    place === 'first' || (place === 'absolute' && !isRelativeServer(each))
  const left = written.map(isLeft)
  const servers = [own, ...written.filter((_, i) => left[i])]
  const document = { ...contract.document, servers }
  if (form === 'yaml31') return toYaml(withoutOpenApi32(document), simpleYaml)
  if (form === 'yaml30') return toYaml(toOpenApi30(document), simpleYaml)
  if (form === 'json30') return String(stringify(toOpenApi30(document)))
  if (form === 'yaml') return yamlWith(own, left, contract.text) ?? toYaml(document, simpleYaml)
  return String(stringify(document))
}

// Returns the YAML as written, with its comments. Returns undefined for JSON, because YAML 1.1 reads some of
// its numbers as strings, and for a document with references by `$self`, which no tool resolves.
function yamlWith(own: ServerObject, left: readonly boolean[], text: string): string | undefined {
  if (/^\s*\{/.test(text)) return undefined
  const document = toDocument(text)
  if (document.has('$self') && hasRefsBySelf(document.toJS())) return undefined
  const servers = document.get('servers')
  if (isSeq(servers) && left.includes(true)) {
    servers.items = servers.items.filter((_, i) => left[i])
    servers.items.unshift(document.createNode(own))
  } else document.set('servers', [own])
  try {
    return written(document, { lineWidth: 0, flowCollectionPadding: false })
  } catch {
    return undefined // an alias has lost its anchor, which was in the servers
  }
}

function hasRefsBySelf(value: object): boolean {
  return !isDeepStrictEqual(withOwnRefs(value), value)
}
