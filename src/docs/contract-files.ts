// The contract as files, for tools.

import type { FastifyInstance } from 'fastify'
import { stringify } from 'lossless-json'
import { stringify as toYaml } from 'yaml'
import type { Contract } from '../contract/types.js'
import { lazyAsset, sendAsset, toAsset } from './assets.js'
import { toOpenApi30 } from './openapi-3.0.js'

const yamlType = 'application/yaml; charset=utf-8' // RFC 9512

// Tools limited to OpenAPI 3.0 may have simple YAML parsers: no aliases, no folded lines.
const simpleYaml = { aliasDuplicateObjects: false, blockQuote: 'literal', lineWidth: 0 } as const

/** Adds `/openapi.yaml`, `/openapi.json`, and `/openapi-3.0.yaml` for tools that do not support OpenAPI 3.1. */
export function addContractFiles(app: FastifyInstance, { text, document }: Contract): void {
  const yaml = lazyAsset(() => toAsset(yamlType, Buffer.from(text)))
  const yaml30 = lazyAsset(() => toAsset(yamlType, Buffer.from(toYaml(toOpenApi30(document), simpleYaml))))
  const json = lazyAsset(() =>
    toAsset('application/json; charset=utf-8', Buffer.from(String(stringify(document)))),
  )
  app.get('/openapi.yaml', async (request, reply) => sendAsset(request, reply, await yaml()))
  app.get('/openapi-3.0.yaml', async (request, reply) => sendAsset(request, reply, await yaml30()))
  app.get('/openapi.json', async (request, reply) => sendAsset(request, reply, await json()))
}
