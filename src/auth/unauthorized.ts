// The 401 of a request without a valid key, and its challenge (RFC 6750, section 3).

import { type Addition, RequestError } from '../openapi/index.js'

/** No key was sent: 401 with `WWW-Authenticate`. */
export function missingKey(realm: string): RequestError {
  return new RequestError('missing_api_key', 'Send an API key: "Authorization: Bearer <API_KEY>".', {
    status: 401,
    headers: { 'WWW-Authenticate': bearer(realm) },
  })
}

/** The same 401 for a mistyped, unknown, expired or revoked key, so that it does not disclose which. */
export function invalidKey(realm: string): RequestError {
  const description = 'The API key is mistyped, unknown, expired or revoked'
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
