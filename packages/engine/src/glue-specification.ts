// The specification for fastify-openapi-glue, which takes it as valid.

import { Validator } from '@seriousme/openapi-schema-validator'
import type { Contract, Operation } from './contract/contract.js'
import { withRouteNames } from './contract/names.js'

const mark = 'x-is-valid'

// glue validates its specification, and compiles the schema of OpenAPI to do so: more CPU than the rest of a
// mount. It has no option for a specification that is known to be valid, and copies it first, so the mark is
// in it.
const { validate } = Validator.prototype
Validator.prototype.validate = async function (specification) {
  if (typeof specification === 'string' || !specification[mark]) return validate.call(this, specification)
  Object.assign(this, { specification, version: '3.1' }) // what glue reads
  return { valid: true }
}

/** Whether glue makes a route of an operation with a method. */
export function isOfGlue(method: string): boolean {
  return ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH'].includes(method)
}

/**
 * A specification of some operations of a contract with the id, method and path of each operation, and
 * nothing else: glue would inline schemas at every reference. Paths are decoded, as the router compares them.
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
