// What security adds to the responses of operations, for the check against the contract at startup.

import type { Contract, Operation } from '../../document/contract.js'
import { missingCode, type Problem } from '../../document/contract-error.js'
import type { RequestError } from '../../document/request-error.js'
import { isPublic } from '../../document/security.js'
import type { Addition } from '../response/additions.js'
import type { Security } from './security.js'

/** The 401s and 403s of each operation, with their headers and the codes that its checks name. */
export function securityAddition(security: Security): Addition {
  return {
    headers: ['www-authenticate'],
    errors: (operation, contract) => [
      ...(isPublic(operation) ? [] : security.refusalsOf(operation)),
      ...foreignRefusals(operation, contract, security),
    ],
  }
}

// A contract that lists its codes without this one is no reason not to start: it is guarded all the same, and
// generate warns (unnamedCodes).
function foreignRefusals(operation: Operation, contract: Contract, security: Security): RequestError[] {
  const refusal = security.foreignRefusalOf(operation)
  return refusal !== undefined && contract.errorStatuses.has(refusal.code) ? [refusal] : []
}

/** A warning if pages of other sites get an error whose code the contract's `ErrorCode` does not have. */
export function unnamedCodes(contract: Contract, security: Security): Problem[] {
  for (const operation of contract.operations.values()) {
    const { code, statusCode } = security.foreignRefusalOf(operation) ?? {}
    if (code === undefined || contract.errorStatuses.has(code)) continue
    const { at } = missingCode(code, statusCode as number) // an error has both
    return [{ text: `ErrorCode: the enum lacks ${code}, which ${operation.id} sends with ${statusCode}`, at }]
  }
  return []
}
