// An untyped client for the contract that a table describes: a function for each operation. index.ts adds the types.

import createFetchClient from 'openapi-fetch'
import type { CallOptions, CallResult } from './call.js'
import { createDeprecationWarner } from './deprecation.js'
import { ApiError } from './error.js'
import { type ExchangeOptions, exchange } from './exchange.js'
import { linkTo } from './links.js'
import { writeParameters } from './parameters.js'
import { writeRequestBody } from './request-body.js'
import { readResponseBody } from './response-body.js'
import { type Clock, systemClock } from './retry.js'
import type { ClientOperation, ClientTable } from './table.js'

/** Options of a client. */
export interface ClientOptions {
  /** The URL of the service, including the contract's prefix: `https://api.example.com/v1`. */
  readonly baseUrl: string
  /** The API key; surrounding whitespace is removed. */
  readonly key: string
  /** Time limit of one attempt, including its body. Default: 30,000. */
  readonly timeoutMs?: number
  /** Maximum number of attempts, including the first. Default: 5. */
  readonly attemptsMax?: number
  /** The call fails at once if `Retry-After` is longer than this. Default: 90,000. */
  readonly waitMaxMs?: number
  /** Receives warnings about deprecated operations. Default: `console.warn`. */
  readonly warn?: (message: string) => void
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** The request of a call. */
export interface CallRequest extends CallOptions {
  readonly path?: object
  readonly query?: object
  readonly header?: object
  readonly cookie?: object
  readonly body?: unknown
}

/** A client of any contract. */
export interface AnyClient {
  readonly operations: Readonly<Record<string, (request?: CallRequest) => Promise<CallResult<unknown>>>>
  pages(operation: string, request?: CallRequest): AsyncGenerator<unknown, void, undefined>
  items(operation: string, request?: CallRequest): AsyncGenerator<unknown, void, undefined>
}

const idempotencyKey = 'Idempotency-Key'

/**
 * Creates the client for a table.
 * @throws {TypeError} if `baseUrl` is not a URL that a path can be appended to, or `key` cannot be sent in a header
 */
export function buildClient(
  table: ClientTable,
  options: ClientOptions,
  clock: Clock = systemClock,
): AnyClient {
  const { baseUrl, key } = options
  checkBaseUrl(baseUrl)
  checkKey(key)
  const exchangeOptions = withDefaults(options, clock)
  const warnIfDeprecated = createDeprecationWarner(options.warn ?? ((message) => console.warn(message)))
  const headers = { Authorization: `Bearer ${key.trim()}` }
  const http = createFetchClient({ baseUrl, headers })
  // openapi-fetch types its paths; here they come from the table.
  const request = http.request as unknown as (method: string, path: string, init: object) => Promise<Raw>

  const send = (id: string, operation: ClientOperation, sent: Request): Promise<Response> => {
    const fetch = async (each: Request) => {
      const response = await exchangeOptions.fetch(each)
      warnIfDeprecated(id, response.headers) // errors have the headers, too
      return response
    }
    return exchange(sent, operation, { ...exchangeOptions, fetch })
  }

  const call = async (
    id: string,
    { path, query, header, cookie, body, signal, ...others }: CallRequest = {},
  ): Promise<CallResult<unknown>> => {
    for (const name of Object.keys(others)) throw new TypeError(`unknown call option: ${name}`)
    const operation = operationOf(table, id)
    const keyed = operation.idempotent ? withIdempotencyKey(header) : header
    const { header: written = keyed, ...serializers } =
      operation.parameters === undefined
        ? {}
        : writeParameters(operation.parameters, { header: keyed, cookie })
    const { data, response } = await request(operation.method, operation.path, {
      params: { path, query, header: written },
      ...serializers,
      ...(body !== undefined && withBody(body, operation)),
      ...(signal && { signal }),
      parseAs: 'arrayBuffer',
      fetch: (sent: Request) => send(id, operation, sent),
    })
    return { data: readResponseBody(table, operation, response, data), response }
  }

  // Sends the key, so the link must not lead to another origin.
  const follow = async (
    id: string,
    target: string,
    signal: AbortSignal | undefined,
  ): Promise<CallResult<unknown>> => {
    const operation = operationOf(table, id)
    const url = new URL(target)
    if (url.origin !== new URL(baseUrl).origin)
      throw new ApiError('unexpected_answer', `The next page is on another origin, ${url.origin}.`)
    const response = await send(id, operation, new Request(url, { headers, ...(signal && { signal }) }))
    return { data: readResponseBody(table, operation, response, await response.arrayBuffer()), response }
  }

  async function* pages(id: string, sent: CallRequest = {}): AsyncGenerator<unknown, void, undefined> {
    for (let page = await call(id, sent); ; ) {
      yield page.data
      const next = linkTo('next', page.response.headers.get('Link'))
      if (next === undefined) return
      page = await follow(id, new URL(next, page.response.url).href, sent.signal)
    }
  }

  async function* items(id: string, sent?: CallRequest): AsyncGenerator<unknown, void, undefined> {
    // The types of index.ts allow only operations that return arrays.
    for await (const page of pages(id, sent)) yield* page as readonly unknown[]
  }

  const ids = Object.keys(table.operations)
  return {
    operations: Object.fromEntries(ids.map((id) => [id, (sent?: CallRequest) => call(id, sent)])),
    pages,
    items,
  }
}

// The result of openapi-fetch; without data if the body is empty.
interface Raw {
  readonly data?: ArrayBuffer
  readonly response: Response
}

function withBody(value: unknown, { body }: ClientOperation) {
  const { content, mediaType } = writeRequestBody(value, body)
  return { body: content, bodySerializer: () => content, headers: { 'Content-Type': mediaType } }
}

function checkBaseUrl(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol)
  if (isWeb && !/[?#]/.test(baseUrl) && url.username === '' && url.password === '') return
  throw new TypeError(
    `baseUrl must be an http or https URL without a query, such as https://api.example.com/v1, not ${JSON.stringify(baseUrl)}`,
  )
}

// Without this check an unset variable would be sent as `undefined`, and fetch's error for an invalid header would contain the key.
function checkKey(key: unknown): void {
  if (typeof key === 'string' && /^[!-~]*$/.test(key.trim())) return
  throw new TypeError('key must be a string of printable ASCII characters without spaces')
}

function withDefaults(options: ClientOptions, clock: Clock): ExchangeOptions {
  const { timeoutMs = 30_000, attemptsMax = 5, waitMaxMs = 90_000 } = options
  return { fetch: options.fetch ?? ((request) => fetch(request)), timeoutMs, attemptsMax, waitMaxMs, clock }
}

function operationOf({ operations }: ClientTable, id: string): ClientOperation {
  const operation = Object.hasOwn(operations, id) ? operations[id] : undefined
  if (operation === undefined) throw new TypeError(`unknown operation: ${id}`)
  return operation
}

// Not crypto.randomUUID, which browsers restrict to secure contexts.
function withIdempotencyKey(header: object | undefined): object {
  const given = Object.keys(header ?? {}).some((name) => name.toLowerCase() === idempotencyKey.toLowerCase())
  if (given) return header ?? {}
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { ...header, [idempotencyKey]: hex }
}
