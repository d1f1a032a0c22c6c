// Sends the requests of tests over real sockets.

import { parse } from 'lossless-json'
import { exactNumber } from './exact-number.js'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The body as received. */
  readonly text: string
  /** The parsed body, with integers beyond 2^53 as bigint. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
  readonly body: any
}

export interface CallOptions {
  readonly headers?: Record<string, string>
  /** A string is sent verbatim, other values as JSON. */
  readonly body?: unknown
}

/** Sends a request over a real socket. */
export async function send(
  url: string,
  method = 'GET',
  headers: Record<string, string> = {},
  body?: unknown,
): Promise<Answer> {
  const json = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    redirect: 'manual',
    ...(body !== undefined && { body: json ? (body as string) : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson =
    /^application\/(json|problem\+json)(;|$)/.test(response.headers.get('content-type') ?? '') && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? parseLossless(text) : undefined,
  }
}

function parseLossless(text: string): unknown {
  return parse(text, undefined, { parseNumber: exactNumber })
}
