// Reads the body of a response as it arrives: in chunks, until it ends or is aborted, silent or cut.

import { startTimer } from './clock.js'
import { ApiError } from './error.js'
import { readableOf } from './readable.js'
import { unlessAborted } from './receive.js'

/** The limits of a body that is read as it arrives. */
export interface BodyLimits {
  /** The name of the operation. */
  readonly operation: string
  readonly signal: AbortSignal
  /** The longest time without a byte, in milliseconds. */
  readonly silenceMaxMs: number
}

/**
 * Yields the chunks of a response's body. To leave the iteration closes the connection.
 * @throws {ApiError} `aborted`, `timeout`, or `incomplete_answer` if the connection broke
 */
export async function* chunksOf(
  response: Response,
  limits: BodyLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = readerOf(response)
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await readNext(reader, response, limits)
      if (done) return
      yield value
    }
  } finally {
    // Not awaited, because a stream may never settle it.
    void reader.cancel().catch(() => {})
  }
}

/** Returns the bytes of a response as a ReadableStream. Cancelling it closes the connection. */
export function streamOf(response: Response, limits: BodyLimits): ReadableStream<Uint8Array> {
  const { signal, abort, release } = ownSignal(limits.signal)
  const chunks = async function* () {
    try {
      yield* chunksOf(response, { ...limits, signal })
    } finally {
      release()
    }
  }
  return readableOf(chunks(), abort)
}

/** Returns a signal that is aborted together with another, or by itself, until it is released. */
export function ownSignal(outer: AbortSignal): {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  release(): void
} {
  const controller = new AbortController()
  const forward = () => controller.abort(outer.reason)
  const release = () => outer.removeEventListener('abort', forward)
  if (outer.aborted) forward()
  else outer.addEventListener('abort', forward, { once: true })
  const abort = (reason: unknown) => {
    release()
    controller.abort(reason)
  }
  return { signal: controller.signal, abort, release }
}

type ChunkReader = ReadableStreamDefaultReader<Uint8Array>

function readerOf({ body }: Response): ChunkReader | undefined {
  if (body === null) return undefined
  if (typeof body?.getReader === 'function') return body.getReader()
  throw new TypeError('this platform cannot read a response while it arrives')
}

const silence = new Error('silence')

async function readNext(reader: ChunkReader, response: Response, limits: BodyLimits) {
  const { operation, signal, silenceMaxMs } = limits
  try {
    signal.throwIfAborted()
    return await unlessSilent(unlessAborted(reader.read(), signal), silenceMaxMs)
  } catch (cause) {
    const details = { operation, response: headOf(response) }
    if (cause === silence) throw new ApiError('timeout', `Nothing arrived for ${silenceMaxMs} ms.`, details)
    if (signal.aborted)
      throw new ApiError('aborted', 'The call was aborted.', { ...details, cause: signal.reason })
    throw cutBody({ ...details, cause })
  }
}

/** Returns the error of a body whose connection broke. */
export function cutBody(details: {
  readonly operation: string
  readonly response: Response
  readonly cause: unknown
}): ApiError {
  const { status } = details.response
  const message = `The connection broke within the body of the response (HTTP status ${status}).`
  return new ApiError('incomplete_answer', message, details)
}

function unlessSilent<Result>(promise: Promise<Result>, ms: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = startTimer(ms, () => reject(silence))
    promise.then(resolve, reject).finally(cancel)
  })
}

/** Returns a response without its body, which is read separately. */
export function headOf(response: Response): Response {
  const { status, statusText, headers, url } = response
  if (status === 0) return response
  return Object.defineProperty(new Response(null, { status, statusText, headers }), 'url', { value: url })
}
