// The errors of requests without a valid API key. The engine adds the challenges.

import { type Check, credentialUsage } from 'contract-engine'

/**
 * Returns the errors of API keys for a scheme. A mistyped, unknown, expired or revoked key gets the same
 * error, which does not disclose the reason.
 */
export function keyErrors(
  scheme: Parameters<typeof credentialUsage>[0],
): Required<NonNullable<Check['errors']>> {
  const usage = credentialUsage(scheme, '<API_KEY>')
  const isHeader = usage.startsWith('"')
  return {
    missing: { code: 'missing_api_key', message: `Send an API key${isHeader ? ':' : ' as'} ${usage}.` },
    invalid: {
      code: 'invalid_api_key',
      message: 'The API key is mistyped, unknown, expired or revoked.',
    },
  }
}
