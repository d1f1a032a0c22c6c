// Lists the headers and errors that the parts of the service add to the responses of its contract. Each part
// declares its own. Startup checks a contract against them, and so does `generate`, which runs none of the
// parts.

import { type Addition, type Security, securityAddition } from 'contract-engine'
import type { ServiceContract } from '../auth/plans.js'
import { idempotencyAddition } from '../middleware/idempotency-errors.js'
import { preconditionAddition } from '../middleware/preconditions.js'
import { rateLimitAdditions } from '../rate-limit/headers.js'
import { httpAddition } from './headers.js'

/** Returns the headers and errors that the service adds to the responses of a contract. */
export function additionsTo(contract: ServiceContract, security: Security): readonly Addition[] {
  return [
    httpAddition,
    securityAddition(security),
    ...rateLimitAdditions(contract, security),
    idempotencyAddition,
    preconditionAddition,
  ]
}
