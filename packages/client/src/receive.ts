// Receives a response with its whole body, or rejects when a signal is aborted, whatever `fetch` does with
// the signal. Node's `fetch` holds the signal of a Request weakly, and loses it in a garbage collection after
// the headers. Another `fetch` may ignore signals.

/** A response whose body was read into `body`, or, without `body`, one whose body is still to be read. */
export interface Received {
  readonly response: Response
  readonly body: ArrayBuffer | undefined
}

/**
 * Sends a request. Rejects with the signal's reason when the signal is aborted.
 * @param onHead called with the response when its status and headers have arrived; returns true to leave the
 * body
 */
export function receive(
  fetch: (request: Request) => Promise<Response>,
  request: Request,
  signal: AbortSignal,
  onHead: (response: Response) => boolean,
): Promise<Received> {
  const received = fetch(request).then(async (response) => {
    const isLeft = onHead(response) && !signal.aborted
    return { response, body: isLeft ? undefined : await receiveBytes(response, signal) }
  })
  return unlessAborted(received, signal)
}

/**
 * Returns a promise with the same result, which rejects with the signal's reason when the signal is aborted.
 */
export function unlessAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

// An abort also cancels the body; otherwise its connection would stay open.
async function receiveBytes(response: Response, signal: AbortSignal): Promise<ArrayBuffer> {
  const reader = response.body?.getReader?.()
  if (reader === undefined) return response.arrayBuffer() // no body, or no stream in this platform
  const cancel = () => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  try {
    return join(await chunksOf(reader))
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

async function chunksOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return chunks
    chunks.push(value)
  }
}

function join(chunks: readonly Uint8Array[]): ArrayBuffer {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const chunk of chunks) {
    whole.set(chunk, end)
    end += chunk.length
  }
  return whole.buffer
}
