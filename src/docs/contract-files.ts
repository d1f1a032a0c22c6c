// The contract itself, for tools.

import type { FastifyInstance } from 'fastify'
import { stringify } from 'lossless-json'
import { stringify as toYaml } from 'yaml'
import type { Contract } from '../contract/types.js'
import { kept, sendAsset, toAsset } from './assets.js'
import { toOpenApi30 } from './openapi-3.0.js'

const yamlType = 'application/yaml; charset=utf-8' // RFC 9512

// Whatever reads no 3.1 may know little of YAML.
const plainly = { aliasDuplicateObjects: false, blockQuote: 'literal', lineWidth: 0 } as const

/** Adds `/openapi.yaml`, `/openapi.json`, and for tools of OpenAPI 3.0 alone `/openapi-3.0.yaml`. */
export function addContractFiles(app: FastifyInstance, { text, document }: Contract): void {
  const yaml = kept(() => toAsset(yamlType, Buffer.from(text)))
  const old = kept(() => toAsset(yamlType, Buffer.from(toYaml(toOpenApi30(document), plainly))))
  const json = kept(() =>
    toAsset('application/json; charset=utf-8', Buffer.from(String(stringify(document)))),
  )
  app.get('/openapi.yaml', async (request, reply) => sendAsset(request, reply, await yaml()))
  app.get('/openapi-3.0.yaml', async (request, reply) => sendAsset(request, reply, await old()))
  app.get('/openapi.json', async (request, reply) => sendAsset(request, reply, await json()))
}
