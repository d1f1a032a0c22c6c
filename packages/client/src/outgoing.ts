// A request that may be sent several times.

import { pageOrigin } from './platform.js'
import type { EncodedBody } from './request-body.js'

/** A request as each attempt sends it, with credentials of its own. */
export interface Outgoing {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly content?: EncodedBody['content'] | undefined
  readonly signal: AbortSignal
}

/** Whether the body of a request can be read only once. */
export function isOneTime({ content }: Outgoing): boolean {
  return content instanceof ReadableStream
}

/**
 * Makes the Request of an attempt. Not a copy of one Request: that would keep what has been sent of a file in
 * memory, for the next copy.
 * @throws {TypeError} if the platform cannot send the body
 */
export function toRequest({ url, content, ...others }: Outgoing, redirect: 'follow' | 'manual'): Request {
  // Of a Uint8Array, the types of Node and of browsers differ.
  const body = content as NonNullable<RequestInit['body']>
  if (!(content instanceof ReadableStream))
    return new Request(url, { ...others, redirect, ...(content !== undefined && { body }) })
  let isKnown = pageOrigin() === undefined
  const duplex = {
    // A browser that does not ask for it would send the text `[object ReadableStream]`.
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
