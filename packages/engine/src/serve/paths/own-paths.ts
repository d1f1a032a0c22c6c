// The paths of the server beside its operations, which give way to operations of the contract.

import type { Contract, Operation } from '../../document/contract.js'
import type { Problem } from '../../document/contract-error.js'
import { problemOf } from '../../document/methods.js'
import { isOpenApi30 } from '../../document/versions.js'

/** The contract as files, the page that shows it, its text, and the catalogue that names them. */
export const documentPaths = {
  yaml: '/openapi.yaml',
  yaml31: '/openapi-3.1.yaml', // not of a contract of OpenAPI 3.0
  yaml30: '/openapi-3.0.yaml',
  json30: '/openapi-3.0.json',
  json: '/openapi.json',
  page: '/docs',
  text: '/llms.txt',
  catalog: '/.well-known/api-catalog',
} as const

/** The operation of a contract that responds to GET or HEAD at a path, prefix included. */
export function operationAt(path: string, { operations }: Contract): Operation | undefined {
  return [...operations.values()].find(
    ({ method, prefix, route }) => ['GET', 'HEAD'].includes(method) && decodeURI(prefix) + route === path,
  )
}

/**
 * A sentence with its place for each operation at a path of the server's own.
 * @param others the paths of other parts of the server
 */
export function replacedPaths(contract: Contract, others: readonly string[]): Problem[] {
  const { yaml31, ...documents } = documentPaths
  const own = isOpenApi30(contract.document) ? [] : [yaml31]
  return [...others, ...own, ...Object.values(documents)].flatMap((path) => {
    const operation = operationAt(path, contract)
    return operation ? [problemOf(operation, `${operation.id} replaces the service's own ${path}`)] : []
  })
}
