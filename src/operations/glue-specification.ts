// The contract as fastify-openapi-glue is to see it.

import { withRouteNames } from '../contract/names.js'
import type { Contract } from '../contract/types.js'

/**
 * The document that glue is given: which operation is where, by paths as the router compares them, decoded. It would write schemas out
 * at every reference, so it is told of none.
 */
export function glueSpecification({ title, version, operations }: Contract): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const { id, method, path } of operations.values()) {
    const route = withRouteNames(decodeURI(path))
    const operation = { operationId: id, responses: { default: { description: 'Checked by the server.' } } }
    paths[route] = { ...paths[route], [method.toLowerCase()]: operation }
  }
  return { openapi: '3.1.0', info: { title, version }, paths }
}
