// Requests without a response: the reason, as far as `fetch` tells it, and whether another attempt may get a
// response.

import { ApiError } from './error.js'
import { pageOrigin } from './platform.js'
import type { CalledOperation } from './table.js'

/** Returns the error of a request that `fetch` rejected. */
export function unreachable({ id }: Pick<CalledOperation, 'id'>, url: string, cause: unknown): ApiError {
  const { origin } = new URL(url)
  const code = codeOf(cause)
  const redirects = redirectFault(cause)
  if (redirects !== undefined) {
    const message = `The redirects of the service lead nowhere: ${redirects}.`
    return new ApiError('redirect', message, { operation: id, cause })
  }
  const message = isForeign(url)
    ? `${origin} cannot be reached, or does not allow requests from ${pageOrigin()} (CORS).`
    : `The service cannot be reached${code === undefined ? '' : ` (${code})`}.`
  return new ApiError('unreachable', message, { operation: id, cause })
}

/**
 * True if another attempt could reach the service. It is false if the service's name or certificate is wrong,
 * or if a browser may have refused the request because of CORS: the browser does not tell that from a lost
 * connection.
 */
export function mayRecover({ code, cause }: ApiError, url: string): boolean {
  const isPermanent = /ENOTFOUND|CERT|SIGNATURE|SSL|TLS/.test(codeOf(cause) ?? '')
  return code === 'unreachable' && !isPermanent && !isForeign(url)
}

// Finds the fault in redirects, of which `fetch` follows 20. The texts are those of Node, Deno and Bun;
// browsers say nothing. "Invalid URL" means a redirect, because the URL of the request is always valid.
function redirectFault(error: unknown): string | undefined {
  const { message, code, cause } = (error ?? {}) as Readonly<Record<string, unknown>>
  const found = [message, code].find((each) => /redirect|URL scheme|invalid URL/i.test(String(each)))
  if (found !== undefined) return String(found)
  return cause === undefined ? undefined : redirectFault(cause)
}

function isForeign(url: string): boolean {
  const origin = pageOrigin()
  return origin !== undefined && new URL(url).origin !== origin
}

// Node has the code in the cause of the TypeError of `fetch`, Bun in the error itself.
function codeOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: unknown }
  if (typeof code === 'string') return code
  return cause === undefined ? undefined : codeOf(cause)
}
