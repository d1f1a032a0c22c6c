// The 401 of a request without a valid key, and its challenge (RFC 6750, section 3).

import { type Addition, type CheckErrors, type Contract, RequestError } from '../openapi/index.js'

const description = 'The API key is mistyped, unknown, expired or revoked'

/** The errors of the check of API keys. */
export const keyErrors: CheckErrors = {
  missing: { code: 'missing_api_key', message: 'Send an API key: "Authorization: Bearer <API_KEY>".' },
  invalid: { code: 'invalid_api_key', message: `${description}.` },
}

/**
 * The names of the security schemes that API keys meet: the only HTTP bearer scheme that operations use or,
 * of several, the only one in the document's own `security`.
 */
export function keySchemes({ operations, securitySchemes, document }: Contract): string[] {
  const all = [...operations.values()].flatMap(({ security }) => security.flat())
  const bearerIn = (names: Iterable<string>) =>
    [...new Set(names)].filter((name) => {
      const { type, scheme } = securitySchemes.get(name) ?? {}
      return type === 'http' && scheme?.toLowerCase() === 'bearer'
    })
  const used = bearerIn(all.map(({ name }) => name))
  const { security = [] } = document as { security?: readonly object[] }
  const schemes = used.length === 1 ? used : bearerIn(security.flatMap((each) => Object.keys(each)))
  return schemes.length === 1 ? schemes : []
}

/** No key was sent: 401 with `WWW-Authenticate`. */
export function missingKey(realm: string): RequestError {
  return new RequestError('missing_api_key', 'Send an API key: "Authorization: Bearer <API_KEY>".', {
    status: 401,
    headers: { 'WWW-Authenticate': bearer(realm) },
  })
}

/** The same 401 for a mistyped, unknown, expired or revoked key, so that it does not disclose which. */
export function invalidKey(realm: string): RequestError {
  return new RequestError('invalid_api_key', `${description}.`, {
    status: 401,
    headers: {
      'WWW-Authenticate': `${bearer(realm)}, error="invalid_token", error_description="${description}"`,
    },
  })
}

// The realm is a quoted-string (RFC 9110, section 5.6.4). Field values are ASCII.
function bearer(realm: string): string {
  const ascii = realm.normalize('NFKD').replace(/[^ -~]/g, '')
  return `Bearer realm="${ascii.replace(/["\\]/g, '\\$&')}"`
}

/** What authentication adds to the responses of an operation that requires a key. */
export const authenticationAddition: Addition = {
  headers: ['www-authenticate'],
  errors: ({ security }, { title }) =>
    security.some((each) => each.length > 0) ? [missingKey(title), invalidKey(title)] : [],
}
