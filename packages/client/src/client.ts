// A client for the contract that a table describes, without types: a function for each operation. index.ts
// adds the types.

import type { AnyCallOptions, CallResult } from './call.js'
import { type Clock, systemClock } from './clock.js'
import { withoutKeys } from './credentials.js'
import type { ApiError } from './error.js'
import { exchange } from './exchange.js'
import { headOf, streamOf } from './incoming.js'
import { linkTo, resolveLink, targetOf } from './links.js'
import { type AnyClientOptions, readCallOptions, readOptions, type Settings } from './options.js'
import type { Outgoing } from './outgoing.js'
import { readRateLimit } from './rate-limit.js'
import { type CallRequest, writeNextRequest, writeRequest } from './request.js'
import { declaredKind, readResponseBody, unexpected } from './response-body.js'
import type { ItemStream } from './stream.js'
import { type StreamRequest, streamItems } from './stream-call.js'
import { type CalledOperation, type ClientTable, operationOf } from './table.js'

type Result = Promise<CallResult<unknown>>

const fileSilenceMs = 60_000

/** The request of a call that returns one result. */
export interface AnyCallRequest extends CallRequest {
  /** True to return a file as a stream while it arrives. */
  readonly stream?: boolean | undefined
}

/** A client of any contract. */
export interface AnyClient {
  readonly operations: Readonly<Record<string, (request?: AnyCallRequest) => Result>>
  stream(operation: string, request?: StreamRequest): ItemStream<unknown>
  pages(operation: string, request?: CallRequest): AsyncGenerator<CallResult<unknown>, void, undefined>
  items(operation: string, request?: CallRequest): AsyncGenerator<unknown, void, undefined>
}

/**
 * Creates the client for a table.
 * @throws {TypeError} if an option is unknown or invalid
 */
export function buildClient(
  table: ClientTable,
  options: AnyClientOptions,
  clock: Clock = systemClock,
): AnyClient {
  const settings = readOptions(table, options, clock)
  const ids = Object.keys(table.operations)
  const start = (id: string, sent?: AnyCallRequest) => call(operationOf(table, id), sent, settings)
  return {
    operations: Object.fromEntries(ids.map((id) => [id, (sent?: AnyCallRequest) => start(id, sent)])),
    stream: (id, sent) => streamItems(operationOf(table, id), sent, settings),
    pages: (id, sent) => pages(() => start(id, sent), sent?.signal),
    items: (id, sent) => items(pages(() => start(id, sent), sent?.signal)),
  }
}

async function call(operation: CalledOperation, sent: AnyCallRequest = {}, settings: Settings): Result {
  const { path, query, header, cookie, body, position, accept, stream = false, ...options } = sent
  const own = readCallOptions(settings, options)
  return requestPage(operation, writeRequest(operation, sent, own), own, stream)
}

async function requestPage(
  operation: CalledOperation,
  request: Outgoing,
  settings: Settings,
  isFileLeft = false,
): Result {
  const kindOf = (response: Response) => declaredKind(operation, response)
  const isLeft = (response: Response) =>
    kindOf(response) === 'stream' || (isFileLeft && kindOf(response) === 'bytes')
  const response = await exchange(request, operation, settings, isLeft)
  if (kindOf(response) === 'stream') throw notAsked(operation, response)
  const { silenceMaxMs = fileSilenceMs } = settings
  const limits = { silenceMaxMs, operation: operation.id, signal: request.signal }
  return {
    data: isLeft(response)
      ? streamOf(response, limits)
      : readResponseBody(operation, response, await response.arrayBuffer()),
    response: isLeft(response) ? headOf(response) : response,
    rateLimit: readRateLimit(response.headers),
    ...nextPage(operation, request, response, settings),
  }
}

// Refuses a stream that the call did not ask for, because it may never end.
function notAsked(operation: CalledOperation, response: Response): ApiError {
  void response.body?.cancel().catch(() => {})
  const message = 'The response is a stream of items, which was not asked for by `accept`.'
  return unexpected(message, operation, headOf(response))
}

function nextPage(operation: CalledOperation, request: Outgoing, response: Response, settings: Settings) {
  const given = linkTo('next', response.headers.get('Link'))
  if (given === undefined) return { position: undefined, next: undefined }
  const link = withoutKeys(given, Object.values(settings.table.securitySchemes))
  const next = async (options: AnyCallOptions = {}): Result => {
    const own = readCallOptions(settings, options)
    const url = resolveLink(link, response, settings.baseUrl, operation)
    if (url === response.url) throw unexpected('The next page is this one again.', operation, response)
    return requestPage(operation, writeNextRequest(url, request.headers, options), own)
  }
  return { position: positionIn(link, request, response, settings), next }
}

// Returns the query with which a GET of the same path continues; a link to another path can only be followed.
function positionIn(
  link: string,
  { method }: Outgoing,
  response: Response,
  { baseUrl }: Settings,
): string | undefined {
  const target = targetOf(link, response, baseUrl)
  if (method !== 'GET' || target === undefined) return undefined
  const { pathname, search } = new URL(target)
  return pathname === new URL(response.url).pathname ? search.slice(1) : undefined
}

async function* pages(first: () => Result, signal: AbortSignal | undefined) {
  for (let page = await first(); ; ) {
    yield page
    if (page.next === undefined) return
    page = await page.next({ signal })
  }
}

async function* items(all: AsyncIterable<CallResult<unknown>>) {
  // The types of index.ts allow only operations that return arrays.
  for await (const page of all) yield* page.data as readonly unknown[]
}
