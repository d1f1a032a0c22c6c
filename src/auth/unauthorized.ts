// The errors of requests without a valid API key. The engine adds the challenges.

import type { CheckErrors, SecurityScheme } from '../openapi/index.js'

/**
 * The errors of API keys for a scheme. A mistyped, unknown, expired or revoked key gets the same one, so that
 * it does not disclose which.
 */
export function keyErrors(scheme: SecurityScheme | undefined): Required<CheckErrors> {
  return {
    missing: { code: 'missing_api_key', message: `Send an API key${usageOf(scheme)}.` },
    invalid: {
      code: 'invalid_api_key',
      message: 'The API key is mistyped, unknown, expired or revoked.',
    },
  }
}

function usageOf(scheme: SecurityScheme | undefined): string {
  const { type, in: location, name, scheme: http } = scheme ?? {}
  if (type !== 'apiKey') return `: "Authorization: ${capitalized(http ?? 'bearer')} <API_KEY>"`
  return location === 'header' ? `: "${name}: <API_KEY>"` : ` as the ${words[location ?? '']} ${name}`
}

const words: Readonly<Record<string, string>> = { query: 'query parameter', cookie: 'cookie' }

function capitalized(scheme: string): string {
  return scheme.charAt(0).toUpperCase() + scheme.slice(1).toLowerCase()
}
