// One call over HTTP: attempts with a time limit each, until one succeeds or the call fails.

import { ApiError, errorOf } from './error.js'
import { asksForRetry, type Clock, isRepeatable, type RetryLimits, waitBefore } from './retry.js'
import type { ClientOperation } from './table.js'

/** Options of every exchange of a client. */
export interface ExchangeOptions extends RetryLimits {
  readonly fetch: (request: Request) => Promise<Response>
  readonly timeoutMs: number
  readonly clock: Clock
}

/**
 * Sends a request, with retries, and returns the successful response. Its body has been buffered.
 * @throws {ApiError} of the last attempt
 */
export async function exchange(
  request: Request,
  operation: ClientOperation,
  options: ExchangeOptions,
): Promise<Response> {
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt(request.clone(), options)
    if (!(outcome instanceof ApiError)) return outcome
    const wait = isRepeatable(operation) ? waitAfter(outcome, attempts, options) : undefined
    if (wait === undefined) throw outcome
    await options.clock.wait(wait, request.signal).catch((reason) => {
      throw aborted(reason)
    })
  }
}

function waitAfter({ code, response }: ApiError, attempts: number, options: ExchangeOptions) {
  const isTransient = response === undefined ? code === 'unreachable' : asksForRetry(response)
  return isTransient
    ? waitBefore(attempts, response?.headers.get('Retry-After'), options, options.clock)
    : undefined
}

// The time limit includes the body. A timer instead of AbortSignal.any with AbortSignal.timeout: supported versions of Node may
// garbage-collect the latter before it fires.
async function attempt(
  request: Request,
  { fetch, timeoutMs }: ExchangeOptions,
): Promise<Response | ApiError> {
  const controller = new AbortController()
  const forwardAbort = () => controller.abort(request.signal.reason)
  if (request.signal.aborted) return aborted(request.signal.reason)
  request.signal.addEventListener('abort', forwardAbort)
  const timer = setTimeout(() => controller.abort(), timeoutMs)
  try {
    const response = await fetch(new Request(request, { signal: controller.signal }))
    const body = await response.arrayBuffer()
    const copy = copyOf(response, body, request.url)
    return response.ok ? copy : errorOf(copy, new TextDecoder().decode(body))
  } catch (error) {
    if (request.signal.aborted) return aborted(request.signal.reason)
    if (controller.signal.aborted)
      return new ApiError('timeout', `No response within ${timeoutMs} ms.`, undefined, error)
    return new ApiError('unreachable', 'The service cannot be reached.', undefined, error)
  } finally {
    clearTimeout(timer)
    request.signal.removeEventListener('abort', forwardAbort)
  }
}

// A response that can be read again, with its URL, to which links are relative. The constructor accepts no
// body for a status such as 204, not even an empty one.
function copyOf({ status, statusText, headers, url }: Response, body: ArrayBuffer, asked: string): Response {
  const copy = new Response(body.byteLength === 0 ? null : body, { status, statusText, headers })
  return Object.defineProperty(copy, 'url', { value: url || asked })
}

function aborted(reason: unknown): ApiError {
  return new ApiError('aborted', 'The call was aborted.', undefined, reason)
}
