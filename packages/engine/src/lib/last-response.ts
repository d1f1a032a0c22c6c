// A response that is written to a socket by itself, because there is no request that Node could respond to.
// It is the last one of the connection.

import { STATUS_CODES } from 'node:http'

/** Returns its text. */
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
