// Makes one call over HTTP: sends attempts, each with a time limit, until one succeeds or the call fails.

import { startTimer } from './clock.js'
import {
  credentialsOf,
  type SentCredential,
  schemesFor,
  staysWhenRedirected,
  withCredentials,
  withoutKeys,
} from './credentials.js'
import { ApiError, isOfCredential } from './error.js'
import { readError } from './error-response.js'
import { cutBody, headOf, ownSignal } from './incoming.js'
import type { Settings } from './options.js'
import { isOneTime, type Outgoing, toRequest } from './outgoing.js'
import { receive, unlessAborted } from './receive.js'
import { asksForRetry, isRepeatable, isSafe, waitBefore } from './retry.js'
import type { CalledOperation } from './table.js'
import { mayRecover, unreachable } from './unreachable.js'

/** The settings that an exchange needs. */
export type ExchangeOptions = Omit<Settings, 'baseUrl' | 'headers' | 'table'>

/** True to leave the body of a successful response to be read as it arrives. */
export type LeavesBody = (response: Response) => boolean

/**
 * Sends a request, with retries, and returns the successful response. Its body has been buffered, unless
 * `leaves` says to leave it.
 * @throws {ApiError} the error of the last attempt
 */
export async function exchange(
  request: Outgoing,
  operation: CalledOperation,
  options: ExchangeOptions,
  leaves: LeavesBody = () => false,
): Promise<Response> {
  const isRepeated = isRepeatable(operation) && !isOneTime(request)
  const schemes = schemesFor(operation, options.credentials)
  const turn = options.queues.nextTurn()
  let sent = await credentialsFor(schemes, request, operation, options)
  let isAskedAgain = false
  for (let attempt = 1; ; ) {
    if (sent instanceof ApiError) throw sent
    const outcome = await sendInTurn(turn, sent, request, operation, options, leaves)
    if (!(outcome instanceof ApiError)) return outcome
    if (isOfCredential(outcome)) {
      const used = sent
      if (isAskedAgain || isOneTime(request)) throw outcome
      isAskedAgain = true
      sent = await credentialsFor(schemes, request, operation, options)
      if (!(sent instanceof ApiError) && keyOf(sent) === keyOf(used)) throw outcome
      continue
    }
    const waitMs = isRepeated ? waitAfter(outcome, request.url, attempt, options) : undefined
    if (waitMs === undefined) throw outcome
    options.onRetry({ operation: operation.id, attempt, waitMs, error: outcome })
    attempt++
    // After a 429, the call waits in the queue, with the others.
    if (outcome.status !== 429 || outcome.retryAfterMs === undefined)
      await options.clock.wait(waitMs, request.signal).catch((reason) => {
        throw aborted(operation, { cause: reason })
      })
    sent = await credentialsFor(schemes, request, operation, options)
  }
}

// The functions that return credentials are called at each attempt.
function credentialsFor(
  schemes: readonly string[],
  request: Outgoing,
  operation: CalledOperation,
  { credentials, timeoutMs }: ExchangeOptions,
): Promise<SentCredential[] | ApiError> {
  return limited(operation, request, { timeoutMs, what: 'key' }, ({ signal }) =>
    unlessAborted(credentialsOf(schemes, credentials), signal),
  )
}

function keyOf(credentials: readonly SentCredential[]): string {
  return credentials.map(({ text }) => text).join('\n')
}

function sendInTurn(
  turn: number,
  sent: readonly SentCredential[],
  request: Outgoing,
  operation: CalledOperation,
  options: ExchangeOptions,
  leaves: LeavesBody,
): Promise<Response | ApiError> {
  const { signal } = request
  const { id, cost = 1 } = operation
  const { timeoutMs, waitMaxMs } = options
  const send = () =>
    limited(operation, request, { timeoutMs, what: 'response' }, (attempt) =>
      sendOnce(operation, request, sent, { ...options, leaves }, attempt),
    )
  return options.queues
    .of(keyOf(sent))
    .run({ operation: id, turn, cost, signal, waitMaxMs }, send)
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

/** One attempt: the signal that ends it, and the response as far as it has arrived. */
interface Attempt {
  readonly signal: AbortSignal
  /** The response, once its status and headers have arrived. */
  head?: Response
}

async function sendOnce(
  operation: CalledOperation,
  request: Outgoing,
  credentials: readonly SentCredential[],
  { fetch, warnIfDeprecated, leaves }: ExchangeOptions & { readonly leaves: LeavesBody },
  attempt: Attempt,
): Promise<Response | ApiError> {
  const { signal } = attempt
  // `fetch` follows a redirect of a POST with a GET, whose response would be mistaken for that of the POST.
  const isFollowed = isSafe(request.method) && !credentials.some(staysWhenRedirected)
  const redirect = isFollowed ? 'follow' : 'manual'
  const { method, content } = request
  const authorized = { ...withCredentials(request, credentials), method, content, signal }
  const sent = toRequest(authorized, redirect)
  const onHead = (response: Response) => {
    hideKeys(response, request.url, credentials)
    attempt.head = response
    return response.ok && leaves(response)
  }
  const received = await receive(fetch, sent, signal, onHead).catch((cause: unknown) => {
    if (signal.aborted) throw cause
    return cut(operation, request.url, attempt, cause)
  })
  if (attempt.head !== undefined) warnIfDeprecated(operation, attempt.head.headers) // for errors, too
  if (received instanceof ApiError) return received
  if (received.body === undefined) return received.response
  const copy = copyOf(received.response, received.body)
  return copy.ok ? copy : readError(operation, copy, received.body)
}

// Removes the keys from the URL of a response; if the response has no URL, uses that of the request.
function hideKeys(response: Response, asked: string, credentials: readonly SentCredential[]): void {
  const schemes = credentials.map(({ scheme }) => scheme)
  const url = withoutKeys(response.url || asked, schemes)
  if (url !== response.url) Object.defineProperty(response, 'url', { value: url })
}

// The time limit includes the body. This uses a timer, because supported versions of Node may garbage-collect
// an AbortSignal.timeout within AbortSignal.any before it fires.
async function limited<Result>(
  operation: CalledOperation,
  request: Outgoing,
  { timeoutMs, what }: { readonly timeoutMs: number; readonly what: string },
  run: (attempt: Attempt) => Promise<Result>,
): Promise<Result | ApiError> {
  if (request.signal.aborted) return aborted(operation, { cause: request.signal.reason })
  const { signal, abort, release } = ownSignal(request.signal)
  const attempt: Attempt = { signal }
  const cancelTimer = startTimer(timeoutMs, () => abort(undefined))
  try {
    return await run(attempt)
  } catch (cause) {
    const details = { ...(attempt.head && { response: headOf(attempt.head) }), cause }
    if (request.signal.aborted) return aborted(operation, { ...details, cause: request.signal.reason })
    if (!signal.aborted) throw cause
    const late = attempt.head === undefined ? `No ${what}` : 'Not the whole body of the response'
    return new ApiError('timeout', `${late} within ${timeoutMs} ms.`, { operation: operation.id, ...details })
  } finally {
    cancelTimer()
    release()
  }
}

// Returns a response that can be read again, with the URL of the original. The constructor accepts no body
// for a status such as 204, not even an empty one, and rejects the status 0 of a redirect that a browser
// hides.
function copyOf(response: Response, body: ArrayBuffer): Response {
  const { status, statusText, headers, url } = response
  if (status === 0) return response
  const copy = new Response(body.byteLength === 0 ? null : body, { status, statusText, headers })
  return Object.defineProperty(copy, 'url', { value: url })
}

function cut({ id }: CalledOperation, url: string, { head }: Attempt, cause: unknown): ApiError {
  if (head === undefined) return unreachable({ id }, url, cause)
  return cutBody({ operation: id, response: headOf(head), cause })
}

function aborted(
  { id }: CalledOperation,
  details: { readonly cause: unknown; readonly response?: Response },
): ApiError {
  return new ApiError('aborted', 'The call was aborted.', { operation: id, ...details })
}
