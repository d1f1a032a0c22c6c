// The id that a client may give to its request.

import type { Contract } from '../../document/contract.js'

// Beyond ASCII the encoding of a header is unknown (RFC 9110, section 5.5).
const ascii = /^[\x20-\x7e]*$/

/** Creates the check of a client's own `X-Request-Id`: whether the contract's schema allows it, in ASCII. */
export function createRequestIdCheck({
  requestId,
  functions,
}: Pick<Contract, 'requestId' | 'functions'>): (id: string) => boolean {
  const validate = functions().judge(requestId)
  return (id) => ascii.test(id) && validate(id)
}
