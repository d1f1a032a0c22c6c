// The errors in a request itself that only the HTTP server finds, before the request has a route.

import { type Contract, RequestError } from 'contract-engine'

/** The request is not valid HTTP, or a proxy may have read it differently: 400. */
export function malformed(cause?: unknown): RequestError {
  const message = 'The request is not valid HTTP, or its path is not a valid URL.'
  return new RequestError('malformed_request', message, { status: 400, cause })
}

/** The request did not arrive in time: 408. */
export function tooSlow(cause?: unknown): RequestError {
  return new RequestError('request_timeout', 'The request did not arrive in time.', { status: 408, cause })
}

/** Its header section is too long: 431. */
export function headersTooLarge({ limits }: Pick<Contract, 'limits'>, cause?: unknown): RequestError {
  const message = `The header section is longer than ${limits.header} bytes.`
  return new RequestError('headers_too_large', message, { status: 431, cause })
}
