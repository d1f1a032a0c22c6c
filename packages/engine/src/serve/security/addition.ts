// The errors that security adds to the responses of operations, for the check against the contract at
// startup.

import type { Contract, Operation } from '../../document/contract.js'
import { missingCode, type Problem } from '../../document/contract-error.js'
import type { RequestError } from '../../document/request-error.js'
import { isPublic } from '../../document/security.js'
import type { Addition } from '../response/additions.js'
import type { Security } from './security.js'

/** Returns the 401s and 403s of each operation, with their headers and with the codes of its checks. */
export function securityAddition(security: Security): Addition {
  return {
    headers: ['www-authenticate'],
    errors: (operation, contract) => [
      ...(isPublic(operation) ? [] : security.refusalsOf(operation)),
      ...foreignRefusals(operation, contract, security),
    ],
  }
}

// If the contract lists its codes without this one, the server starts nevertheless: the operation is guarded
// all the same, and `generate` warns (unnamedCodes).
function foreignRefusals(operation: Operation, contract: Contract, security: Security): RequestError[] {
  const refusal = security.foreignRefusalOf(operation)
  return refusal !== undefined && contract.errorStatuses.has(refusal.code) ? [refusal] : []
}

/**
 * Returns a warning if requests from pages of other sites get an error whose code the contract's `ErrorCode`
 * lacks.
 */
export function unnamedCodes(contract: Contract, security: Security): Problem[] {
  for (const operation of contract.operations.values()) {
    const { code, statusCode } = security.foreignRefusalOf(operation) ?? {}
    if (code === undefined || contract.errorStatuses.has(code)) continue
    const { at } = missingCode(code, statusCode as number) // an error has both a code and a status
    return [{ text: `ErrorCode: the enum lacks ${code}, which ${operation.id} sends with ${statusCode}`, at }]
  }
  return []
}
