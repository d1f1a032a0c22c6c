// One call over HTTP: attempts with a time limit each, until one succeeds or the call fails.

import { startTimer } from './clock.js'
import { ApiError } from './error.js'
import { readError } from './error-response.js'
import type { Settings } from './options.js'
import { receive } from './receive.js'
import { asksForRetry, isRepeatable, waitBefore } from './retry.js'
import type { CalledOperation } from './table.js'
import { mayRecover, unreachable } from './unreachable.js'

/** What an exchange needs of the settings. */
export type ExchangeOptions = Omit<Settings, 'baseUrl' | 'headers'>

/**
 * Sends a request, with retries, and returns the successful response. Its body has been buffered.
 * @throws {ApiError} of the last attempt
 */
export async function exchange(
  request: Request,
  operation: CalledOperation,
  options: ExchangeOptions,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await send(request, operation, options)
    const response = outcome instanceof ApiError ? outcome.response : outcome
    // Errors have the headers, too.
    if (response !== undefined) options.warnIfDeprecated(operation, response.headers)
    if (!(outcome instanceof ApiError)) return outcome
    const waitMs = isRepeatable(operation) ? waitAfter(outcome, request.url, attempt, options) : undefined
    if (waitMs === undefined) throw outcome
    options.onRetry({ operation: operation.id, attempt, waitMs, error: outcome })
    await options.clock.wait(waitMs, request.signal).catch((reason) => {
      throw aborted(operation, reason)
    })
  }
}

function waitAfter(error: ApiError, url: string, attempt: number, options: ExchangeOptions) {
  const { code, response } = error
  const isTransient =
    response === undefined ? code === 'timeout' || mayRecover(error, url) : asksForRetry(response)
  return isTransient
    ? waitBefore(attempt, response?.headers.get('Retry-After'), options, options.clock)
    : undefined
}

// The time limit includes the body. A timer instead of AbortSignal.any with AbortSignal.timeout: supported
// versions of Node may garbage-collect the latter before it fires.
async function send(
  request: Request,
  operation: CalledOperation,
  { fetch, timeoutMs }: ExchangeOptions,
): Promise<Response | ApiError> {
  const controller = new AbortController()
  const forwardAbort = () => controller.abort(request.signal.reason)
  if (request.signal.aborted) return aborted(operation, request.signal.reason)
  request.signal.addEventListener('abort', forwardAbort)
  const cancelTimer = startTimer(timeoutMs, () => controller.abort())
  try {
    const redirect = isSafe(request) ? 'follow' : 'manual'
    const attempt = new Request(request.clone(), { signal: controller.signal, redirect })
    const { response, body } = await receive(fetch, attempt, controller.signal)
    const copy = copyOf(response, body, request.url)
    return response.ok ? copy : readError(operation, copy, body)
  } catch (cause) {
    if (request.signal.aborted) return aborted(operation, request.signal.reason)
    if (!controller.signal.aborted) return unreachable(operation, request.url, cause)
    return new ApiError('timeout', `No response within ${timeoutMs} ms.`, { operation: operation.id, cause })
  } finally {
    cancelTimer()
    request.signal.removeEventListener('abort', forwardAbort)
  }
}

// `fetch` follows a redirect of a POST with a GET, whose response would pass for that of the POST.
function isSafe({ method }: Request): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(method)
}

// A response that can be read again, with the URL that it came from. The constructor accepts no body for a
// status such as 204, not even an empty one, and not the status 0 of a redirect that a browser hides.
function copyOf(response: Response, body: ArrayBuffer, asked: string): Response {
  const { status, statusText, headers, url } = response
  if (status === 0) return response
  const copy = new Response(body.byteLength === 0 ? null : body, { status, statusText, headers })
  return Object.defineProperty(copy, 'url', { value: url || asked })
}

function aborted({ id }: CalledOperation, cause: unknown): ApiError {
  return new ApiError('aborted', 'The call was aborted.', { operation: id, cause })
}
