// The paths that the service adds to those of the contract, for the code that serves them and for tools that
// check a contract.

import { type Contract, operationAt } from 'contract-engine'

/** The paths of liveness and readiness, also on the port for metrics. */
export const healthPaths = { live: '/healthz', ready: '/readyz' } as const

/**
 * Returns the paths of the probes on the port of the operations. A path that an operation has moves to `/-/`.
 */
export function healthPathsOf(contract: Contract): Record<keyof typeof healthPaths, string> {
  const moved = (path: string) => (operationAt(path, contract) === undefined ? path : `/-${path}`)
  return { live: moved(healthPaths.live), ready: moved(healthPaths.ready) }
}

/** The path of the contact for vulnerabilities (RFC 9116). */
export const securityTxtPath = '/.well-known/security.txt'
