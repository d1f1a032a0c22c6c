// The check of JSON Web Tokens, loaded on demand: only a service with such a scheme loads it, and installs
// jose.

import type { Check } from 'contract-engine'
import { OperatorError } from '../lib/operator-error.js'
import type { CheckParts } from './checks.js'
import type { Client } from './client.js'
import type { JwtOptions } from './jwt-check.js'

export type { JwtOptions }

/**
 * Makes the check of a scheme whose credential is an access token of an OpenID issuer. The scheme may be
 * `http` bearer, `oauth2` or `openIdConnect`.
 * @throws {OperatorError} at startup, if the issuer or the audience is not configured, or jose is not
 * installed
 */
export function jwt(options: JwtOptions = {}): (parts: CheckParts) => Promise<Check<Client>> {
  return async (parts) => {
    const { JwtCheck } = await import('./jwt-check.js').catch((error) => explainMissing(error, parts))
    return new JwtCheck(parts, options)
  }
}

function explainMissing(cause: NodeJS.ErrnoException, { scheme }: CheckParts): never {
  if (cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause
  const missing = `The security scheme ${scheme} needs jose, which is not installed: npm install --save-prod jose@6`
  throw new OperatorError(missing, { cause })
}
