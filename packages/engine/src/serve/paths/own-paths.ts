// The server's own paths beside its operations. If the contract has an operation at such a path, the
// operation replaces it.

import type { Contract, Operation } from '../../document/contract.js'
import type { Problem } from '../../document/contract-error.js'
import { problemOf } from '../../document/methods.js'
import { isOpenApi30 } from '../../document/versions.js'

/**
 * The paths of the contract's files, of the page that shows it, of its text, and of the catalogue that lists
 * them.
 */
export const documentPaths = {
  yaml: '/openapi.yaml',
  yaml31: '/openapi-3.1.yaml', // not served for a contract of OpenAPI 3.0
  yaml30: '/openapi-3.0.yaml',
  json30: '/openapi-3.0.json',
  json: '/openapi.json',
  page: '/docs',
  text: '/llms.txt',
  catalog: '/.well-known/api-catalog',
} as const

/** Returns the operation that responds to GET or HEAD at a path, which includes the prefix. */
export function operationAt(path: string, { operations }: Contract): Operation | undefined {
  return [...operations.values()].find(
    ({ method, prefix, route }) => ['GET', 'HEAD'].includes(method) && decodeURI(prefix) + route === path,
  )
}

/**
 * Returns a sentence with its place for each operation that replaces a path of the server's own.
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
