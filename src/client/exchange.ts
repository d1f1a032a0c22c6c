// One call over HTTP: attempts, each within its time, until an answer stands.

import { ApiError, errorOf } from './error.js'
import { asksForRetry, type Clock, isRepeatable, type RetryLimits, waitBefore } from './retry.js'
import type { ClientOperation } from './table.js'

/** What every call of a client is made with. */
export interface ExchangeOptions extends RetryLimits {
  readonly fetch: (request: Request) => Promise<Response>
  readonly timeoutMs: number
  readonly clock: Clock
}

/**
 * Sends a request, and again as the answers ask, until one is good; it has been read whole.
 * @throws {ApiError} the last attempt's
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
  const isPassing = response === undefined ? code === 'unreachable' : asksForRetry(response)
  return isPassing
    ? waitBefore(attempts, response?.headers.get('Retry-After'), options, options.clock)
    : undefined
}

// The time covers the body too. A timer of its own, for AbortSignal.any may be collected with its timeout
// before that has passed, in the Node versions we support.
async function attempt(
  request: Request,
  { fetch, timeoutMs }: ExchangeOptions,
): Promise<Response | ApiError> {
  const controller = new AbortController()
  const passOn = () => controller.abort(request.signal.reason)
  if (request.signal.aborted) return aborted(request.signal.reason)
  request.signal.addEventListener('abort', passOn)
  const timer = setTimeout(() => controller.abort(), timeoutMs)
  try {
    const response = await fetch(new Request(request, { signal: controller.signal }))
    const body = await response.arrayBuffer()
    const copy = copyOf(response, body)
    return response.ok ? copy : errorOf(copy, new TextDecoder().decode(body))
  } catch (error) {
    if (request.signal.aborted) return aborted(request.signal.reason)
    if (controller.signal.aborted)
      return new ApiError('timeout', `No answer within ${timeoutMs} ms.`, undefined, error)
    return new ApiError('unreachable', 'The service cannot be reached.', undefined, error)
  } finally {
    clearTimeout(timer)
    request.signal.removeEventListener('abort', passOn)
  }
}

// One that can be read again. A status such as 204 allows no body, not even an empty one.
function copyOf({ status, statusText, headers }: Response, body: ArrayBuffer): Response {
  return new Response(body.byteLength === 0 ? null : body, { status, statusText, headers })
}

function aborted(reason: unknown): ApiError {
  return new ApiError('aborted', 'The call was aborted.', undefined, reason)
}
