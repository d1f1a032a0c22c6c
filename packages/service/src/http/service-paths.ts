// The paths of the service beside its operations and the contract, for what serves them and for tools that
// check a contract.

import { type Contract, operationAt } from 'contract-engine'

/** The paths of liveness and readiness, also on the port for metrics. */
export const healthPaths = { live: '/healthz', ready: '/readyz' } as const

/** The same on the port of the operations: one at which the contract has an operation moves to `/-/`. */
export function healthPathsOf(contract: Contract): Record<keyof typeof healthPaths, string> {
  const moved = (path: string) => (operationAt(path, contract) === undefined ? path : `/-${path}`)
  return { live: moved(healthPaths.live), ready: moved(healthPaths.ready) }
}

/** Whom to tell of a vulnerability (RFC 9116). */
export const securityTxtPath = '/.well-known/security.txt'
