// One call over HTTP: attempts with a time limit each, until one succeeds or the call fails.

import { startTimer } from './clock.js'
import {
  credentialsOf,
  type SentCredential,
  schemesFor,
  staysWhenRedirected,
  withCredentials,
  withoutKeys,
} from './credentials.js'
import { ApiError } from './error.js'
import { readError } from './error-response.js'
import type { Settings } from './options.js'
import { receive, unlessAborted } from './receive.js'
import { asksForRetry, isRepeatable, waitBefore } from './retry.js'
import type { CalledOperation } from './table.js'
import { mayRecover, unreachable } from './unreachable.js'

/** What an exchange needs of the settings. */
export type ExchangeOptions = Omit<Settings, 'baseUrl' | 'headers' | 'table'>

/**
 * Sends a request, with retries, and returns the successful response. Its body has been buffered.
 * @throws {ApiError} of the last attempt
 */
export async function exchange(
  request: Request,
  operation: CalledOperation,
  options: ExchangeOptions,
): Promise<Response> {
  const schemes = schemesFor(operation, options.credentials)
  const turn = options.queues.nextTurn()
  for (let attempt = 1; ; attempt++) {
    const outcome = await sendInTurn(turn, schemes, request, operation, options)
    if (!(outcome instanceof ApiError)) return outcome
    const waitMs = isRepeatable(operation) ? waitAfter(outcome, request.url, attempt, options) : undefined
    if (waitMs === undefined) throw outcome
    options.onRetry({ operation: operation.id, attempt, waitMs, error: outcome })
    // After a 429 it waits in the queue, with the others.
    if (outcome.status === 429 && outcome.retryAfterMs !== undefined) continue
    await options.clock.wait(waitMs, request.signal).catch((reason) => {
      throw aborted(operation, { cause: reason })
    })
  }
}

async function sendInTurn(
  turn: number,
  schemes: readonly string[],
  request: Request,
  operation: CalledOperation,
  options: ExchangeOptions,
): Promise<Response | ApiError> {
  const { signal } = request
  const within = <Result>(what: string, run: (attempt: Attempt) => Promise<Result>) =>
    limited(operation, request, { timeoutMs: options.timeoutMs, what }, run)
  const ask = () => credentialsOf(schemes, options.credentials)
  const sent = await within('key', (attempt) => unlessAborted(ask(), attempt.signal))
  if (sent instanceof ApiError) return sent
  const caller = { operation: operation.id, turn, signal, waitMaxMs: options.waitMaxMs }
  const send = () => within('response', (attempt) => sendOnce(operation, request, sent, options, attempt))
  return options.queues
    .of(sent.map(({ text }) => text).join('\n'))
    .run(caller, send)
    .catch((reason) => {
      throw signal.aborted ? aborted(operation, { cause: reason }) : reason
    })
}

function waitAfter(error: ApiError, url: string, attempt: number, options: ExchangeOptions) {
  const { code, response } = error
  const isCut = code === 'timeout' || code === 'incomplete_answer'
  const isTransient = isCut || (response === undefined ? mayRecover(error, url) : asksForRetry(response))
  return isTransient && code !== 'aborted'
    ? waitBefore(attempt, response?.headers.get('Retry-After'), options, options.clock)
    : undefined
}

/** One attempt: what ends it, and what has arrived. */
interface Attempt {
  readonly signal: AbortSignal
  /** The response, once its status and headers have arrived. */
  head?: Response
}

async function sendOnce(
  operation: CalledOperation,
  request: Request,
  credentials: readonly SentCredential[],
  { fetch, warnIfDeprecated }: ExchangeOptions,
  attempt: Attempt,
): Promise<Response | ApiError> {
  const { signal } = attempt
  const authorized = await withCredentials(request, credentials)
  const isFollowed = isSafe(request) && !credentials.some(staysWhenRedirected)
  const sent = new Request(authorized, { signal, redirect: isFollowed ? 'follow' : 'manual' })
  const onHead = (response: Response) => {
    const url = withoutKeys(
      response.url,
      credentials.map(({ scheme }) => scheme),
    )
    attempt.head = url === response.url ? response : Object.defineProperty(response, 'url', { value: url })
  }
  const received = await receive(fetch, sent, signal, onHead).catch((cause: unknown) => {
    if (signal.aborted) throw cause
    return cut(operation, request.url, attempt, cause)
  })
  if (attempt.head !== undefined) warnIfDeprecated(operation, attempt.head.headers) // errors have them, too
  if (received instanceof ApiError) return received
  const copy = copyOf(received.response, received.body, request.url)
  return copy.ok ? copy : readError(operation, copy, received.body)
}

// The time limit includes the body. A timer instead of AbortSignal.any with AbortSignal.timeout: supported
// versions of Node may garbage-collect the latter before it fires.
async function limited<Result>(
  operation: CalledOperation,
  request: Request,
  { timeoutMs, what }: { readonly timeoutMs: number; readonly what: string },
  run: (attempt: Attempt) => Promise<Result>,
): Promise<Result | ApiError> {
  const controller = new AbortController()
  const attempt: Attempt = { signal: controller.signal }
  const forwardAbort = () => controller.abort(request.signal.reason)
  if (request.signal.aborted) return aborted(operation, { cause: request.signal.reason })
  request.signal.addEventListener('abort', forwardAbort)
  const cancelTimer = startTimer(timeoutMs, () => controller.abort())
  try {
    return await run(attempt)
  } catch (cause) {
    const details = { ...headOf(attempt, request.url), cause }
    if (request.signal.aborted) return aborted(operation, { ...details, cause: request.signal.reason })
    if (!controller.signal.aborted) throw cause
    const late = attempt.head === undefined ? `No ${what}` : 'Not the whole body of the response'
    return new ApiError('timeout', `${late} within ${timeoutMs} ms.`, { operation: operation.id, ...details })
  } finally {
    cancelTimer()
    request.signal.removeEventListener('abort', forwardAbort)
  }
}

// `fetch` follows a redirect of a POST with a GET, whose response would pass for that of the POST.
function isSafe({ method }: Request): boolean {
  return ['GET', 'HEAD', 'OPTIONS', 'QUERY'].includes(method)
}

// A response that can be read again, with the URL that it came from. The constructor accepts no body for a
// status such as 204, not even an empty one, and not the status 0 of a redirect that a browser hides.
function copyOf(response: Response, body: ArrayBuffer, asked: string): Response {
  const { status, statusText, headers, url } = response
  if (status === 0) return response
  const copy = new Response(body.byteLength === 0 ? null : body, { status, statusText, headers })
  return Object.defineProperty(copy, 'url', { value: url || asked })
}

function headOf({ head }: Attempt, asked: string): { readonly response?: Response } {
  return head === undefined ? {} : { response: copyOf(head, new ArrayBuffer(0), asked) }
}

function cut(operation: CalledOperation, url: string, attempt: Attempt, cause: unknown): ApiError {
  const { head } = attempt
  if (head === undefined) return unreachable(operation, url, cause)
  const message = `The connection broke within the body of the response (HTTP status ${head.status}).`
  return new ApiError('incomplete_answer', message, {
    operation: operation.id,
    ...headOf(attempt, url),
    cause,
  })
}

function aborted(
  { id }: CalledOperation,
  details: { readonly cause: unknown; readonly response?: Response },
): ApiError {
  return new ApiError('aborted', 'The call was aborted.', { operation: id, ...details })
}
