// The paths of the server beside its operations, which give way to operations of the contract.

import type { Contract, Operation } from './contract/contract.js'

/** The operation of a contract that responds to GET or HEAD at a path, prefix included. */
export function operationAt(path: string, { prefix, operations }: Contract): Operation | undefined {
  return [...operations.values()].find(
    ({ method, route }) => ['GET', 'HEAD'].includes(method) && decodeURI(prefix) + route === path,
  )
}
