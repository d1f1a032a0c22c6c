// The contract as files, for tools.

import type { FastifyInstance } from 'fastify'
import { stringify } from 'lossless-json'
import { stringify as toYaml } from 'yaml'
import type { Contract } from '../contract/contract.js'
import { operationAt } from '../own-paths.js'
import { addAsset } from './assets.js'
import { toOpenApi30 } from './openapi-3.0.js'

const yamlType = 'application/yaml; charset=utf-8' // RFC 9512

// Tools limited to OpenAPI 3.0 may have simple YAML parsers: no aliases, no folded lines.
const simpleYaml = { aliasDuplicateObjects: false, blockQuote: 'literal', lineWidth: 0 } as const

/**
 * Adds `/openapi.yaml`, `/openapi.json`, and `/openapi-3.0.yaml` for tools that do not support OpenAPI 3.1. An
 * operation of the contract at one of these takes precedence.
 */
export function addContractFiles(app: FastifyInstance, contract: Contract): void {
  const { text, document } = contract
  const add = (path: string, type: string, write: () => string) => {
    if (operationAt(path, contract) === undefined) addAsset(app, path, type, write)
  }
  add('/openapi.yaml', yamlType, () => text)
  add('/openapi-3.0.yaml', yamlType, () => toYaml(toOpenApi30(document), simpleYaml))
  add('/openapi.json', 'application/json; charset=utf-8', () => String(stringify(document)))
}
