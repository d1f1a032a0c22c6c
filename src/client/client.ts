// A client of any contract whose table is given: a function for each operation. Types are the business of index.ts.

import createFetchClient from 'openapi-fetch'
import { readAnswer } from './answer.js'
import { writeBody } from './body.js'
import { createNotice } from './deprecation.js'
import { ApiError } from './error.js'
import { type ExchangeOptions, exchange } from './exchange.js'
import { linkTo } from './links.js'
import { writeParameters } from './parameters.js'
import { type Clock, systemClock } from './retry.js'
import type { ClientOperation, ClientTable } from './table.js'

/** How a client is made. */
export interface ClientOptions {
  /** The server's address with the contract's prefix: `https://api.example.com/v1`. */
  readonly baseUrl: string
  /** The API key; blanks and line breaks around it are left out. */
  readonly key: string
  /** For one attempt, its body included. 30,000 unless given. */
  readonly timeoutMs?: number
  /** How often a call is tried at most, the first time included. 5 unless given. */
  readonly attemptsMax?: number
  /** Where the service asks for a longer wait, the call fails at once. 90,000 unless given. */
  readonly waitMaxMs?: number
  /** Where warnings go; `console.warn` unless given. */
  readonly warn?: (message: string) => void
  /** In place of the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** Of one call. */
export interface CallOptions {
  /** Ends the call, whatever it waits for. */
  readonly signal?: AbortSignal
}

/** What an operation is called with. */
export interface CallRequest extends CallOptions {
  readonly path?: object
  readonly query?: object
  readonly header?: object
  readonly cookie?: object
  readonly body?: unknown
}

/** What an operation answers with. */
export interface CallAnswer {
  readonly data: unknown
  readonly response: Response
}

export interface AnyClient {
  readonly operations: Readonly<Record<string, (request?: CallRequest) => Promise<CallAnswer>>>
  pages(operation: string, request?: CallRequest): AsyncGenerator<unknown, void, undefined>
  items(operation: string, request?: CallRequest): AsyncGenerator<unknown, void, undefined>
}

const idempotencyKey = 'Idempotency-Key'

/**
 * Makes the client of a table.
 * @throws {TypeError} when `baseUrl` is no address that a path can be added to, or `key` is none
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
  const notice = createNotice(options.warn ?? ((message) => console.warn(message)))
  const headers = { Authorization: `Bearer ${key.trim()}` }
  const http = createFetchClient({ baseUrl, headers })
  // The paths are a table's here, not types.
  const request = http.request as unknown as (method: string, path: string, init: object) => Promise<Raw>

  const send = (id: string, operation: ClientOperation, sent: Request): Promise<Response> => {
    const fetch = async (each: Request) => {
      const response = await exchangeOptions.fetch(each)
      notice(id, response.headers) // an error's too
      return response
    }
    return exchange(sent, operation, { ...exchangeOptions, fetch })
  }

  const call = async (
    id: string,
    { path, query, header, cookie, body, signal, ...others }: CallRequest = {},
  ): Promise<CallAnswer> => {
    for (const name of Object.keys(others)) throw new TypeError(`a call takes no ${name}`)
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
    return { data: readAnswer(table, operation, response, data), response }
  }

  // A link is followed as it is, with the key, so it must not lead to another server.
  const follow = async (id: string, target: string, signal: AbortSignal | undefined): Promise<CallAnswer> => {
    const operation = operationOf(table, id)
    const url = new URL(target, baseUrl)
    if (url.origin !== new URL(baseUrl).origin)
      throw new ApiError('unexpected_answer', `The next page is at ${url.origin}.`)
    const response = await send(id, operation, new Request(url, { headers, ...(signal && { signal }) }))
    return { data: readAnswer(table, operation, response, await response.arrayBuffer()), response }
  }

  async function* pages(id: string, sent: CallRequest = {}): AsyncGenerator<unknown, void, undefined> {
    for (let page = await call(id, sent); ; ) {
      yield page.data
      const next = linkTo('next', page.response.headers.get('Link'))
      if (next === undefined) return
      page = await follow(id, next, sent.signal)
    }
  }

  async function* items(id: string, sent?: CallRequest): AsyncGenerator<unknown, void, undefined> {
    // The types have it that pages are lists.
    for await (const page of pages(id, sent)) yield* page as readonly unknown[]
  }

  const ids = Object.keys(table.operations)
  return {
    operations: Object.fromEntries(ids.map((id) => [id, (sent?: CallRequest) => call(id, sent)])),
    pages,
    items,
  }
}

// What openapi-fetch makes of an answer; it reads none that is empty.
interface Raw {
  readonly data?: ArrayBuffer
  readonly response: Response
}

function withBody(value: unknown, { body }: ClientOperation) {
  const { content, mediaType } = writeBody(value, body)
  return { body: content, bodySerializer: () => content, headers: { 'Content-Type': mediaType } }
}

function checkBaseUrl(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol)
  if (isWeb && !/[?#]/.test(baseUrl) && url.username === '' && url.password === '') return
  throw new TypeError(
    `baseUrl must be an http or https address without a query, such as https://api.example.com/v1, not ${JSON.stringify(baseUrl)}`,
  )
}

// A variable that is not set would be sent as `undefined`, and the error of a header that cannot be sent has the key in it.
function checkKey(key: unknown): void {
  if (typeof key === 'string' && /^[!-~]*$/.test(key.trim())) return
  throw new TypeError('key must be a string of printable ASCII without blanks')
}

function withDefaults(options: ClientOptions, clock: Clock): ExchangeOptions {
  const { timeoutMs = 30_000, attemptsMax = 5, waitMaxMs = 90_000 } = options
  return { fetch: options.fetch ?? ((request) => fetch(request)), timeoutMs, attemptsMax, waitMaxMs, clock }
}

function operationOf({ operations }: ClientTable, id: string): ClientOperation {
  const operation = Object.hasOwn(operations, id) ? operations[id] : undefined
  if (operation === undefined) throw new TypeError(`${id} is no operation of the contract`)
  return operation
}

// By getRandomValues: browsers keep randomUUID for pages that came over TLS.
function withIdempotencyKey(header: object | undefined): object {
  const given = Object.keys(header ?? {}).some((name) => name.toLowerCase() === idempotencyKey.toLowerCase())
  if (given) return header ?? {}
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { ...header, [idempotencyKey]: hex }
}
