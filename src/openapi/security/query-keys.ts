// Keys in a query: no parameters of their operation, so that validation would refuse them, and a handler has no
// use for them.

import type { FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../contract/contract.js'
import { credentialPlace } from '../contract/security.js'

/** The names of the query parameters in which an operation takes keys, and that it does not declare. */
export function queryKeysOf({ security, parameters }: Operation, { securitySchemes }: Contract): string[] {
  const places = security.flat().map(({ name }) => credentialPlace(securitySchemes.get(name)))
  const names = places.flatMap((place) => (place?.in === 'query' ? place.name : []))
  const isDeclared = (name: string) => parameters.some((each) => each.in === 'query' && each.name === name)
  return [...new Set(names)].filter((name) => !isDeclared(name))
}

/** Takes the keys out of the query of a request that has been judged. Undefined for an operation without. */
export function queryKeyRemoval(
  operation: Operation,
  contract: Contract,
): ((request: FastifyRequest) => void) | undefined {
  const names = queryKeysOf(operation, contract)
  if (names.length === 0) return undefined
  return ({ query }) => {
    for (const name of names) delete (query as Record<string, unknown>)[name]
  }
}
