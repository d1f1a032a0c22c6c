// Bounds what one connection has in flight. Node parses everything that it has read, which may be thousands of pipelined requests, and
// keeps the responses of a client that reads none of them.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { currentResponse, hasReceivedLast } from './connections.js'

/** The most requests of one connection in flight. A client that pipelines more of them waits until these have their responses. */
export const pipelinedMax = 4

// Ends a header section, and a chunked body.
const emptyLine = '\r\n\r\n'
const nothing = Buffer.alloc(0)

/**
 * Parses no more of a connection than a few requests until their responses are written. What has been read beyond stays in the socket's
 * buffer, which stops reading when it is full.
 */
export function boundPipelines(server: Server): void {
  const pipelines = new WeakMap<Duplex, Pipeline>()
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    pipelines.get(request.socket)?.add(request, response)
  })
  // Node has given the parser away, which may serve another connection by now.
  server.prependListener('connect', (_request, stream: Duplex) => pipelines.get(stream)?.end())
  // After Node's own listener, which has made its parser the only reader.
  server.on('connection', (socket: Socket) => {
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[]
    if (parse === undefined) return
    const pipeline = new Pipeline(socket, parse)
    pipelines.set(socket, pipeline)
    socket.removeListener('data', parse)
    socket.on('data', (bytes: Buffer) => pipeline.read(bytes))
  })
}

class Pipeline {
  /** The newest request and its response. */
  #request: IncomingMessage | undefined
  #response: ServerResponse | undefined
  /** Requests since the connection last had none in flight. */
  #count = 0
  #isWaiting = false
  #isOver = false
  /** Of the newest request's body, if its length is known. */
  #bytesLeft = 0
  /** The end of what was parsed, if the empty line may have begun there. */
  #tail = nothing

  constructor(
    readonly socket: Socket,
    readonly parse: (bytes: Buffer) => void,
  ) {}

  add(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request
    this.#response = response
    this.#count = currentResponse(this.socket) === response ? 1 : this.#count + 1
    this.#bytesLeft = Number(request.headers['content-length'] ?? 0)
  }

  /** Discards what follows. */
  end(): void {
    this.#isOver = true
  }

  /** Parses one message at a time, until the pipeline is full. */
  read(bytes: Buffer): void {
    let rest = bytes
    while (rest.length > 0 && !this.#isOver && !hasReceivedLast(this.socket)) {
      if (this.#mustWait()) {
        this.socket.pause()
        this.socket.unshift(rest)
        return
      }
      const end = this.#partEnd(rest)
      this.parse(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  }

  // Node's parser must get no bytes while Node has paused the socket, as it does for a client that does not read. Node resumes it
  // itself. The property is missing from its types.
  #mustWait(): boolean {
    return this.#isFull() || (this.socket as Socket & { _paused?: boolean })._paused === true
  }

  #isFull(): boolean {
    if (this.#count < pipelinedMax || currentResponse(this.socket) === undefined) return false
    if (!this.#request?.complete) return false // its body must be read
    if (!this.#isWaiting) this.#response?.once('close', () => this.#resume())
    this.#isWaiting = true
    return true
  }

  #resume(): void {
    this.#isWaiting = false
    this.socket.resume()
  }

  // A part is a header section, a body of known length, or what ends with the next empty line.
  #partEnd(bytes: Buffer): number {
    if (this.#bytesLeft > 0) {
      const end = Math.min(this.#bytesLeft, bytes.length)
      this.#bytesLeft -= end
      return end
    }
    const end = emptyLineEnd(this.#tail, bytes)
    this.#tail = end === undefined ? Buffer.concat([this.#tail, bytes.subarray(-3)]).subarray(-3) : nothing
    return end ?? bytes.length
  }
}

function emptyLineEnd(tail: Buffer, bytes: Buffer): number | undefined {
  if (tail.length > 0) {
    const at = Buffer.concat([tail, bytes.subarray(0, 3)]).indexOf(emptyLine)
    if (at !== -1) return at + emptyLine.length - tail.length
  }
  const at = bytes.indexOf(emptyLine)
  return at === -1 ? undefined : at + emptyLine.length
}
