// The specification for fastify-openapi-glue.

import type { Contract } from './contract/contract.js'
import { withRouteNames } from './contract/names.js'

/**
 * A specification with the id, method and path of each operation, and nothing else: glue would inline schemas at every reference.
 * Paths are decoded, as the router compares them.
 */
export function glueSpecification({ title, version, operations }: Contract): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const { id, method, path } of operations.values()) {
    const route = withRouteNames(decodeURI(path))
    const operation = { operationId: id, responses: { default: { description: 'Validated by the server.' } } }
    paths[route] = { ...paths[route], [method.toLowerCase()]: operation }
  }
  return { openapi: '3.1.0', info: { title, version }, paths }
}
