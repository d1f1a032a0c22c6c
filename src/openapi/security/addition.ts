// What security adds to the responses of operations, for the check against the contract at startup.

import type { Operation } from '../contract/contract.js'
import { isPublic } from '../contract/security.js'
import type { Addition } from '../response/additions.js'
import type { Security } from './security.js'

/** The 401s and 403s of each operation, with their headers and the codes that its checks name. */
export function securityAddition(security: Security): Addition {
  return {
    headers: ['www-authenticate'],
    errors: (operation: Operation) => (isPublic(operation) ? [] : security.refusalsOf(operation)),
  }
}
