// A connection of a server: the response in flight, the last response, and the end. A response that belongs
// to no request of Node is written to the socket.

import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** Returns the text of the last response of a connection. */
export function lastResponse(
  common: Readonly<Record<string, string>>,
  {
    status,
    contentType,
    text,
  }: { readonly status: number; readonly contentType: string; readonly text: string },
): string {
  const headers = {
    ...common,
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`
}

// How long the server keeps reading after the last response. Closing a socket with unread bytes resets the
// connection, and a peer that is still sending would lose the response (RFC 9112, section 9.6).
const lingerMs = 1_000

/**
 * Sends the last bytes of a connection, discards what the peer still sends, and closes the connection after
 * `lingerMs`.
 */
export function lingeringClose(socket: Socket, bytes = ''): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(bytes)
  socket.resume()
}

/**
 * Returns the response to the request in flight on a connection of a server: from the arrival of the
 * request's head until the response is sent. Node only keeps it as `_httpMessage`, which its types lack.
 */
export function responseOn(
  socket: Socket & { readonly _httpMessage?: ServerResponse | null },
): ServerResponse | undefined {
  return socket._httpMessage ?? undefined
}
