// A stream of items. It connects when it is read. After a lost connection, it continues where it was if the
// framing allows it: events have ids (Server-Sent Events), lines of JSON have none.

import type { Clock } from './clock.js'
import { ApiError, isOfCredential } from './error.js'
import { type Framing, itemReader, type SentItem } from './framing.js'
import { chunksOf, headOf, ownSignal } from './incoming.js'
import { type RateLimit, readRateLimit } from './rate-limit.js'
import { unexpected } from './response-body.js'
import type { CalledOperation } from './table.js'

/** The response from which a stream is read. */
export interface Opened {
  /** The response with its status and headers; the stream reads its body. */
  readonly response: Response
  /** The quota that is closest to its end, if the response tells it. */
  readonly rateLimit: RateLimit | undefined
}

/**
 * The items of a response as they arrive. They can be iterated over once; leaving the iteration closes the
 * connection.
 */
export interface ItemStream<Item> extends AsyncGenerator<Item, void, undefined> {
  /** Connects, unless the stream is connected, and resolves with the response before an item has arrived. */
  open(): Promise<Opened>
  /** Closes the connection, and ends an iteration that waits for an item. */
  close(): void
  /**
   * The id of the last event, to continue later: `header: { 'Last-Event-ID': … }`. Empty if no event had one.
   */
  readonly lastEventId: string
}

/** A response, and how its items are read. */
export interface Connection {
  readonly response: Response
  /** Undefined if the response has no items, so that the stream is over. */
  readonly framing: Framing | undefined
  /** The longest time without a byte, in milliseconds. */
  readonly silenceMaxMs: number
}

/** The source of a stream. */
export interface StreamSource {
  readonly operation: CalledOperation
  readonly signal: AbortSignal
  readonly clock: Clock
  /** The id of the event after which the stream begins; empty for none. */
  readonly lastEventId: string
  /** True if the stream connects again after the end of a connection. */
  readonly reconnects: boolean
  /** Sends the request, with retries. */
  connect(lastEventId: string, signal: AbortSignal): Promise<Connection>
  /**
   * Reads an item.
   * @throws {ApiError} if the item is not as the contract declares it
   */
  read(item: SentItem, response: Response): unknown
  /**
   * Is called when a connection was lost, before the wait for another.
   * @param attempt the number of waits since the last item, including this one
   */
  onLost(error: ApiError, waitMs: number, attempt: number): void
}

// The default waits. Each connection without an event doubles the wait, up to the longest: otherwise an event
// that the server cannot write would be requested again and again.
const reconnectMs = 2_000
const reconnectMaxMs = 30_000
// The shortest wait after a connection without an event, whatever the server says: `retry: 0` would make 75
// connections a second.
const emptyMinMs = 500

/** Returns the stream of a source. */
export function streamOf(source: StreamSource): ItemStream<unknown> {
  // The cast: a generator has `[Symbol.asyncDispose]` only in a library of TypeScript that a caller may lack.
  return new Stream(source) as unknown as ItemStream<unknown>
}

class Stream {
  readonly #own: ReturnType<typeof ownSignal>
  readonly #items: AsyncGenerator<unknown, void, undefined>
  #connecting: Promise<Connection> | undefined
  #isClosed = false
  // The number of connections in a row without an event.
  #empty = 0
  // The number of waits since the last event.
  #waits = 0
  #retryMs = reconnectMs
  #lastEventId: string

  constructor(readonly source: StreamSource) {
    this.#lastEventId = source.lastEventId
    this.#own = ownSignal(source.signal)
    // If a stream was opened but is not iterated over, nothing else closes its connection.
    this.#own.signal.addEventListener('abort', () => this.#discard())
    this.#items = this.#iterate()
  }

  get lastEventId(): string {
    return this.#lastEventId
  }

  async open(): Promise<Opened> {
    const response = headOf((await this.#connect()).response)
    return { response, rateLimit: readRateLimit(response.headers) }
  }

  close(): void {
    this.#isClosed = true
    this.#own.abort(undefined)
    void this.#items.return()
  }

  next(): Promise<IteratorResult<unknown, void>> {
    return this.#items.next()
  }

  async return(): Promise<IteratorResult<unknown, void>> {
    this.close()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<IteratorResult<unknown, void>> {
    this.close()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #connect(): Promise<Connection> {
    this.#connecting ??= this.source.connect(this.#lastEventId, this.#own.signal)
    return this.#connecting
  }

  // Repeats without a limit: the service was there, and may be away for longer than the attempts of a call.
  async #connectAgain(): Promise<Connection> {
    for (;;) {
      this.#connecting = undefined
      try {
        return await this.#connect()
      } catch (error) {
        if (!(error instanceof ApiError && isAway(error))) throw error
        this.#empty++
        await this.#waitAfter(error)
      }
    }
  }

  #discard(): void {
    const cancel = ({ response }: Connection) => response.body?.cancel()
    this.#connecting?.then(cancel).catch(() => {}) // a body that is being read ends by itself
  }

  async *#iterate(): AsyncGenerator<unknown, void, undefined> {
    try {
      for (let wasConnected = false; ; wasConnected = true) {
        const { framing, ...connection } = await (wasConnected ? this.#connectAgain() : this.#connect())
        if (framing === undefined) return
        const lost = yield* this.#itemsOf(connection, framing)
        const goesOn = this.source.reconnects && framing === 'sse'
        if (!goesOn && lost !== undefined) throw lost
        if (!goesOn) return
        await this.#waitAfter(lost)
      }
    } catch (error) {
      if (!this.#isClosed) throw error
    } finally {
      this.#own.release()
    }
  }

  // Returns the error if the connection was lost.
  async *#itemsOf(
    { response, silenceMaxMs }: Omit<Connection, 'framing'>,
    framing: Framing,
  ): AsyncGenerator<unknown, ApiError | undefined, undefined> {
    const { operation, read } = this.source
    this.#empty++
    try {
      const limits = { operation: operation.id, signal: this.#own.signal, silenceMaxMs }
      for await (const item of itemsIn(chunksOf(response, limits), framing)) {
        this.#lastEventId = item.id ?? this.#lastEventId
        this.#retryMs = item.retry ?? this.#retryMs
        if (item.data === undefined) continue
        this.#empty = 0
        this.#waits = 0
        yield read(item, response)
      }
      return undefined
    } catch (error) {
      if (error instanceof RangeError) throw unexpected(error.message, operation, headOf(response), error)
      if (error instanceof ApiError && isLost(error)) return error
      throw error
    }
  }

  async #waitAfter(lost: ApiError | undefined): Promise<void> {
    const { operation, clock, onLost } = this.source
    const ownMs = this.#empty === 0 ? this.#retryMs : Math.max(this.#retryMs, emptyMinMs)
    const doubled = ownMs * 2 ** Math.max(0, this.#empty - 1)
    const longest = Math.max(ownMs, reconnectMaxMs)
    // Random, to spread streams that lost their connections together.
    const waitMs = Math.min(doubled, longest) * (1 + clock.random() / 2)
    this.#waits++
    if (lost !== undefined) onLost(lost, waitMs, this.#waits)
    await clock.wait(waitMs, this.#own.signal).catch((cause) => {
      throw new ApiError('aborted', 'The call was aborted.', { operation: operation.id, cause })
    })
  }
}

// For `await using`, if the runtime has it.
const { asyncDispose } = Symbol as { readonly asyncDispose?: symbol }
if (asyncDispose !== undefined)
  Object.defineProperty(Stream.prototype, asyncDispose, {
    async value(this: Stream) {
      this.close()
    },
  })

async function* itemsIn(
  chunks: AsyncIterable<Uint8Array>,
  framing: Framing,
): AsyncGenerator<SentItem, void, undefined> {
  const decoder = new TextDecoder()
  const reader = itemReader(framing)
  for await (const chunk of chunks) yield* reader.push(decoder.decode(chunk, { stream: true }))
  yield* reader.push(decoder.decode())
  yield* reader.end()
}

function isAway(error: ApiError): boolean {
  if (isOfCredential(error)) return false
  const isBusy = error.status !== undefined && [429, 502, 503, 504].includes(error.status)
  return error.code === 'unreachable' || isBusy || isLost(error)
}

function isLost({ code }: ApiError): boolean {
  return code === 'timeout' || code === 'incomplete_answer'
}
