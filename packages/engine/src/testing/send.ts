// Requests over real sockets.

import net, { type Socket } from 'node:net'
import { parse } from 'lossless-json'
import { exactNumber } from '../lib/exact-number.js'

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

/** Sends bytes verbatim, and returns all that the server sends until it closes the connection. */
export function sendRaw(origin: string, ...chunks: (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const socket: Socket = net.connect(Number(port), hostname, () => {
      for (const chunk of chunks) socket.write(chunk)
    })
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', (text) => {
      received += text
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}
