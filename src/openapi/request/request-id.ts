// The id that a client may give to its request.

import type { Contract } from '../contract/contract.js'
import { compilable, createAjv } from '../schemas/ajv.js'

/** Creates the check of a client's own `X-Request-Id`: whether the contract's schema allows it. */
export function createRequestIdCheck({ requestId }: Contract): (id: string) => boolean {
  const validate = createAjv('check').compile(compilable(requestId))
  return (id) => validate(id)
}
