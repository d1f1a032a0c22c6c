// Parses connections in turns: one request at a time, and a bounded number of lines. Node parses everything
// that it has read, which may be thousands of pipelined requests, runs them all, and keeps the responses of a
// peer that reads none. A body in chunks of one byte would keep it for 0.4 s, since it reads 2 MB at once.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { responseOn } from 'contract-engine/lib/connection'
import { bodyLength } from 'contract-engine/lib/field-values'

/**
 * Node's option `highWaterMark` for the server. It bounds the bytes received of a waiting connection. A
 * packet of one byte takes about 400 bytes of memory, so Node's default of 16 kB could take 6 MB.
 */
export const bufferBytes = 1024

type Parse = (bytes: Buffer) => void

/**
 * Makes the server parse one request of a connection, then wait until its response is written. Of a chunked
 * body that nothing reads, it parses no more than one turn. Further bytes stay in the socket's buffer, which
 * stops reading when it is full.
 */
export function boundPipelines(server: Server): void {
  // Runs after Node's own listener, which has made Node's parser the only reader.
  server.on('connection', (socket: Socket) => {
    const [parse] = socket.listeners('data') as Parse[]
    if (parse === undefined) return
    const pipeline = new Pipeline(socket, parse)
    socket.removeListener('data', parse)
    socket.on('data', (bytes: Buffer) => pipeline.read(bytes))
  })
}

/** Returns the request in flight on a connection, if its head has arrived. */
export function requestOn(socket: Socket): IncomingMessage | undefined {
  return responseOn(socket)?.req
}

const endless = new WeakSet<ServerResponse>()

/**
 * Discards bytes that follow the request of an endless response, and closes the connection after the
 * response. Unread bytes would hide that the client has gone for as long as the stream is silent.
 */
export function discardBehind(response: ServerResponse): void {
  endless.add(response)
  // The socket may already wait for the end of the response. The stand-in socket of `app.inject` does not.
  if (response.socket instanceof Socket) response.socket.resume()
}

const lineFeed = '\n'.charCodeAt(0)
const nothing = Buffer.alloc(0)
// The most lines to parse in a turn. A chunk has two, and takes about 1 µs.
const linesMax = 128

class Pipeline {
  /**
   * The newest request whose body has begun to arrive, and the bytes left of that body if its length is
   * known.
   */
  #request: IncomingMessage | undefined
  #bytesLeft = 0
  /** The length so far of a line that has arrived in part. */
  #lineLength = 0
  #linesLeft = linesMax
  #isWaiting = false
  #isLast = false

  constructor(
    readonly socket: Socket,
    readonly parse: Parse,
  ) {}

  read(bytes: Buffer): void {
    if (!isUnread(requestOn(this.socket))) this.#linesLeft = linesMax
    let rest = bytes
    while (rest.length > 0 && this.socket.writable) {
      const response = responseOn(this.socket)
      if (response?.req.complete && endless.has(response)) {
        this.#discard(response)
        return
      }
      if (this.#mustWait(response)) {
        this.socket.pause()
        this.socket.unshift(rest)
        return
      }
      const end = this.#partEnd(rest, response?.req)
      const isWhole = end === rest.length // the usual case, which needs no subarray
      this.parse(isWhole ? rest : rest.subarray(0, end))
      rest = isWhole ? nothing : rest.subarray(end)
    }
    // Discards the rest in turns, too: libuv reads on as long as a peer fills its buffer.
    if (!this.socket.writable) this.#pauseForTurn()
  }

  // An endless stream: waiting for its end would keep the connection of a client that has sent more and left.
  #discard(response: ServerResponse): void {
    if (!this.#isLast) response.once('close', () => this.socket.destroySoon())
    this.#isLast = true
    this.#pauseForTurn()
  }

  #mustWait(response: ServerResponse | undefined): boolean {
    if (this.#isWaiting) return true
    if (response?.req.complete) this.#waitFor((resume) => response.once('close', resume))
    else if (this.#linesLeft === 0) this.#waitForTurn(response)
    return this.#isWaiting
  }

  #waitForTurn(response: ServerResponse | undefined): void {
    const request = response?.req
    this.#waitFor((resume) => {
      if (isUnread(request)) request.once('resume', resume)
      else setImmediate(resume)
    })
  }

  #waitFor(subscribe: (resume: () => void) => void): void {
    this.#isWaiting = true
    subscribe(() => {
      this.#isWaiting = false
      this.socket.resume()
    })
  }

  #pauseForTurn(): void {
    this.socket.pause()
    setImmediate(() => this.socket.resume())
  }

  // Returns the end of the next part, in which at most one request begins. A part is a body of known length,
  // or ends with the next empty line: such a line ends a header section and a chunked body.
  #partEnd(bytes: Buffer, arriving: IncomingMessage | undefined): number {
    if (arriving !== undefined && arriving !== this.#request) {
      this.#request = arriving
      this.#bytesLeft = bodyLength(arriving.headers) ?? 0
    }
    if (this.#bytesLeft > 0) {
      const end = Math.min(this.#bytesLeft, bytes.length)
      this.#bytesLeft -= end
      return end
    }
    for (let end = 0; ; ) {
      const start = end
      end = bytes.indexOf(lineFeed, start) + 1
      this.#lineLength += (end || bytes.length) - start
      if (end === 0) return bytes.length
      const isEmptyLine = this.#lineLength <= '\r\n'.length
      this.#lineLength = 0
      this.#linesLeft--
      if (isEmptyLine || this.#linesLeft === 0) return end
    }
  }
}

/** True if nothing reads the body of a request, so that its chunks stay in memory. */
function isUnread(request: IncomingMessage | undefined): request is IncomingMessage {
  return request !== undefined && !request.complete && request.readableFlowing !== true
}
