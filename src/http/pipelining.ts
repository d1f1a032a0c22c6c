// Runs the requests of a connection one at a time. Node parses everything that it has read, which may be
// thousands of pipelined requests, runs them all, and keeps the responses of a peer that reads none.

import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { requestOn, responseOn } from './connections.js'

type Parse = (bytes: Buffer) => void

/**
 * Parses no more of a connection than one request until its response is written. What has been read beyond
 * stays in the socket's buffer, which stops reading when it is full.
 */
export function boundPipelines(server: Server): void {
  // After Node's own listener, which has made its parser the only reader.
  server.on('connection', (socket: Socket) => {
    const [parse] = socket.listeners('data') as Parse[]
    if (parse === undefined) return
    const pipeline = new Pipeline(socket, parse)
    socket.removeListener('data', parse)
    socket.on('data', (bytes: Buffer) => pipeline.read(bytes))
  })
}

// Ends a header section, and a chunked body.
const emptyLine = '\r\n\r\n'
const nothing = Buffer.alloc(0)

class Pipeline {
  /** The newest request whose body was still arriving, and the bytes left of it if its length is known. */
  #request: IncomingMessage | undefined
  #bytesLeft = 0
  /** The end of what was parsed, if an empty line may have begun there. */
  #tail = nothing
  #isWaiting = false

  constructor(
    readonly socket: Socket,
    readonly parse: Parse,
  ) {}

  read(bytes: Buffer): void {
    let rest = bytes
    while (rest.length > 0 && this.socket.writable) {
      if (this.#mustWait()) {
        this.socket.pause()
        this.socket.unshift(rest)
        return
      }
      const end = this.#partEnd(rest)
      const isWhole = end === rest.length // mostly, so that it needs no copy of the view
      this.parse(isWhole ? rest : rest.subarray(0, end))
      rest = isWhole ? nothing : rest.subarray(end)
      this.#noteBody()
    }
  }

  // Node's parser must get no bytes while Node has paused the socket, as it does for a peer that does not
  // read. Node resumes it itself. The property is missing from its types.
  #mustWait(): boolean {
    const response = responseOn(this.socket)
    if (!response?.req.complete) return (this.socket as Socket & { _paused?: boolean })._paused === true
    if (!this.#isWaiting) response.once('close', () => this.#resume())
    this.#isWaiting = true
    return true
  }

  #resume(): void {
    this.#isWaiting = false
    this.socket.resume()
  }

  #noteBody(): void {
    const request = requestOn(this.socket)
    if (request === undefined || request.complete || request === this.#request) return
    this.#request = request
    this.#bytesLeft = Number(request.headers['content-length'] ?? 0)
  }

  // A part is a header section, a body of known length, or what ends with the next empty line: at most one
  // request begins in it.
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
