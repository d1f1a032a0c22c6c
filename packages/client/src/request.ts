// Writes the request of a call.

import type { AnyCallOptions, Start } from './call.js'
import { readHeaders } from './headers.js'
import type { Outgoing } from './outgoing.js'
import { type ParameterValues, writeParameters } from './parameters.js'
import { writeRequestBody } from './request-body.js'
import type { CalledOperation, ClientTable } from './table.js'

/** The request of a call, with its options. */
export interface CallRequest extends AnyCallOptions, Start, ParameterValues {
  readonly body?: unknown
  /** The media type that the call wants, one of those that the contract declares. */
  readonly accept?: string | undefined
}

/** Where requests are sent, and with which headers. */
interface Target {
  readonly baseUrl: string
  readonly table: Pick<ClientTable, 'prefix'>
  readonly headers: Readonly<Record<string, string>>
}

const idempotencyKey = 'Idempotency-Key'

/**
 * Writes a request.
 * @throws {TypeError} if a value cannot be written, such as a header with a line break
 */
export function writeRequest(
  operation: CalledOperation,
  { path, query, header, cookie, body, accept, signal, position }: CallRequest,
  { baseUrl, table, headers }: Target,
): Outgoing {
  const written = writeParameters(operation, { path, query, header, cookie })
  const encoded = body === undefined ? undefined : writeRequestBody(body, operation.body, operation.schemas)
  const all = new Headers(headers)
  if (encoded?.mediaType !== undefined) all.set('Content-Type', encoded.mediaType)
  if (accept !== undefined) all.set('Accept', accept)
  for (const [name, value] of Object.entries(written.headers)) all.set(name, value)
  if (operation.idempotent && !all.has(idempotencyKey)) all.set(idempotencyKey, randomKey())
  return {
    url: at(`${baseOf(operation, baseUrl, table.prefix)}${written.target}`, position),
    method: operation.method,
    headers: all,
    content: encoded?.content,
    signal: signal ?? never(),
  }
}

/** Writes the request of a further page: a GET with the header and cookie parameters of the previous one. */
export function writeNextRequest(
  url: string,
  sent: Headers,
  { signal, headers: own }: AnyCallOptions,
): Outgoing {
  const headers = new Headers(sent)
  for (const name of ['Content-Type', idempotencyKey]) headers.delete(name)
  for (const [name, value] of Object.entries(readHeaders({}, own))) headers.set(name, value)
  return { url, method: 'GET', headers, signal: signal ?? never() }
}

// Operations with a prefix of their own have it in place of the usual prefix. If a gateway has replaced the
// usual prefix, their prefix is appended.
function baseOf({ prefix }: CalledOperation, baseUrl: string, usual: string): string {
  if (prefix === undefined) return baseUrl
  return (baseUrl.endsWith(usual) ? baseUrl.slice(0, baseUrl.length - usual.length) : baseUrl) + prefix
}

function never(): AbortSignal {
  return new AbortController().signal
}

// The position is the query of a link to a page.
function at(url: string, position: unknown): string {
  if (position === undefined) return url
  if (typeof position !== 'string' || position.includes('#'))
    throw new TypeError('position must be that of an earlier result')
  if (url.includes('?')) throw new TypeError('position has its query: give no other')
  return `${url}?${position}`
}

// Does not use crypto.randomUUID, which browsers restrict to secure contexts.
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
