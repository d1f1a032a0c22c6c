// A request that may be sent several times.

import { pageOrigin } from './platform.js'
import type { EncodedBody } from './request-body.js'

/** A request without the credentials, which each attempt adds. */
export interface Outgoing {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly content?: EncodedBody['content'] | undefined
  readonly signal: AbortSignal
}

/** True if the body of a request can be read only once. */
export function isOneTime({ content }: Outgoing): boolean {
  return content instanceof ReadableStream
}

/**
 * Makes the Request of an attempt. Copies of a single Request would not do: it would keep the sent part of a
 * file in memory for the next copy.
 * @throws {TypeError} if the platform cannot send the body
 */
export function toRequest({ url, content, ...others }: Outgoing, redirect: 'follow' | 'manual'): Request {
  // The cast: the types of Node and of browsers differ for a Uint8Array.
  const body = content as NonNullable<RequestInit['body']>
  if (!(content instanceof ReadableStream))
    return new Request(url, { ...others, redirect, ...(content !== undefined && { body }) })
  let isKnown = pageOrigin() === undefined
  const duplex = {
    // A browser that does not read this property would send the text `[object ReadableStream]`.
    get duplex() {
      isKnown = true
      return 'half'
    },
  }
  const init = Object.assign(duplex, { ...others, redirect, body })
  const request = new Request(url, init as RequestInit)
  if (!isKnown) throw new TypeError('this browser cannot send a body as a stream: give a Blob')
  return request
}
