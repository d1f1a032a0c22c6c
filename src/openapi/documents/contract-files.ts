// The contract as files, for tools.

import type { FastifyInstance } from 'fastify'
import { stringify } from 'lossless-json'
import { stringify as toYaml } from 'yaml'
import type { Contract } from '../contract/contract.js'
import { addAsset } from './assets.js'
import { toOpenApi30 } from './openapi-3.0.js'

const yamlType = 'application/yaml; charset=utf-8' // RFC 9512

// Tools limited to OpenAPI 3.0 may have simple YAML parsers: no aliases, no folded lines.
const simpleYaml = { aliasDuplicateObjects: false, blockQuote: 'literal', lineWidth: 0 } as const

/** Adds `/openapi.yaml`, `/openapi.json`, and `/openapi-3.0.yaml` for tools that do not support OpenAPI 3.1. */
export function addContractFiles(app: FastifyInstance, { text, document }: Contract): void {
  addAsset(app, '/openapi.yaml', yamlType, () => text)
  addAsset(app, '/openapi-3.0.yaml', yamlType, () => toYaml(toOpenApi30(document), simpleYaml))
  addAsset(app, '/openapi.json', 'application/json; charset=utf-8', () => String(stringify(document)))
}
