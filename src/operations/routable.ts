// The contract as fastify-openapi-glue is to see it.

import { withRouteNames } from '../contract/names.js'
import type { Contract, Operation, Parameter } from '../contract/types.js'
import { jsonSchemas, usedParts } from './used-parts.js'

/**
 * The document that glue is given: its own validator refuses what is none. The router compares decoded paths. Glue would write the
 * schemas of answers out at every reference, so it is told of none. An operation that is not written is a route and no more: its
 * schemas, which can be many, would check nothing.
 */
export function routable(contract: Contract, isWritten: (operation: Operation) => boolean): object {
  const { operations } = contract
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations.values()) {
    const { id, method, body, definition, parameters } = operation
    const path = withRouteNames(decodeURI(operation.path))
    const bare = { operationId: id, responses: { default: { description: 'Checked by the server.' } } }
    const full = {
      ...bare,
      ...(body !== undefined && { requestBody: definition.requestBody }),
      ...schemasOf(parameters),
    }
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: isWritten(operation) ? full : bare,
    }
  }
  return usedParts(paths, contract)
}

// Glue's own reading of parameters is not OpenAPI's, so it is told of nothing but names and schemas. Of JSON it knows nothing: each is
// compiled by itself.
function schemasOf(parameters: Operation['parameters']): object {
  const isJson = ({ form }: Parameter) => form?.style === 'json'
  const content = parameters.filter(isJson).map((each) => [placeOf(each), { schema: each.schema }])
  return {
    parameters: parameters.map((each) => ({
      name: each.name,
      in: each.in,
      required: each.required,
      explode: false,
      schema: isJson(each) ? {} : each.schema,
    })),
    ...(content.length > 0 && { [jsonSchemas]: { content: Object.fromEntries(content) } }),
  }
}

/** A parameter's name among the JSON schemas of its operation. */
export function placeOf({ name, in: location }: Parameter): string {
  return `${location} ${name}`
}
