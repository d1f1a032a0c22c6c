// The specification for fastify-openapi-glue.

import type { Contract, Operation } from '../../document/contract.js'
import { withRouteNames } from '../../document/names.js'
import { mark } from './glue-validator.js'

/** True if fastify-openapi-glue makes routes for a method. */
export function isOfGlue(method: string): boolean {
  return ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH'].includes(method)
}

/**
 * Returns a specification that has only the id, method and path of each operation: glue would inline schemas
 * at every reference. Paths are decoded, because the router compares decoded paths.
 */
export function glueSpecification({ title, version }: Contract, operations: Iterable<Operation>): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const { id, method, path } of operations) {
    if (!isOfGlue(method)) continue
    const route = withRouteNames(decodeURI(path))
    const operation = { operationId: id, responses: { default: { description: 'Validated by the server.' } } }
    paths[route] = { ...paths[route], [method.toLowerCase()]: operation }
  }
  return { openapi: '3.1.0', [mark]: true, info: { title, version }, paths }
}
