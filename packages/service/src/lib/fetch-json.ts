// Fetches a JSON document from a server that the operator named, within a time and a size. Follows no
// redirect, so that it reads exactly the address that the operator has checked.

import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'

/** The bounds of a fetch. */
export interface FetchLimits {
  /** Ends the fetch. */
  readonly signal: AbortSignal
  readonly charactersMax: number
}

/**
 * Gets the JSON document at a URL, and returns its value. TLS trusts the authorities of Node and
 * `NODE_EXTRA_CA_CERTS`. Not `fetch`: it decompresses without a bound, and its time limit may be collected as
 * garbage while a body stalls.
 * @throws {Error} unless the response is 200, in time, within the size, and JSON; the message names the URL
 */
export async function fetchJson(url: URL, limits: FetchLimits): Promise<unknown> {
  try {
    return JSON.parse(await read(await get(url, limits.signal), limits.charactersMax))
  } catch (error) {
    const reason = limits.signal.aborted ? 'no complete response in time' : reasonOf(error as Error)
    throw new Error(`GET ${url.href}: ${reason}`, { cause: error })
  }
}

// `close`, because the other end may close a kept connection before its next use.
const headers = { accept: 'application/json', connection: 'close' }

function get(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { request } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    request(url, { headers, signal }, resolve).on('error', reject).end()
  })
}

async function read(response: IncomingMessage, charactersMax: number): Promise<string> {
  const { statusCode } = response
  if (statusCode !== 200) response.destroy(new Error(`the status is ${statusCode}, not 200`))
  let text = ''
  // Leaving the loop closes the connection.
  for await (const part of response.setEncoding('utf8')) {
    text += part
    if (text.length > charactersMax) throw new Error(`longer than ${charactersMax} characters`)
  }
  return text
}

// Node's AggregateError for a host with several addresses has no message.
function reasonOf({ message, ...error }: NodeJS.ErrnoException): string {
  return message || String(error.code)
}
