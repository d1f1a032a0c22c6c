// Sends bytes unchanged and parses responses strictly by RFC 9112, so that a malformed response is a failure too.

import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'

/** A response; header names are in lower case. */
export interface Response {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** The response is missing or is not valid HTTP. */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
}

const responseTimeoutMs = 20_000

/** Sends one request at a time over a persistent connection, which it reopens after the service closes it. */
export class Connection {
  #socket: net.Socket | undefined
  #received = Buffer.alloc(0)
  #ended = false
  #wake = () => {}

  constructor(readonly origin: string) {}

  /**
   * Sends a request and returns the response.
   * @throws {ProtocolError} if none arrives in time, or it is not valid HTTP
   */
  async exchange(bytes: Uint8Array, method: string): Promise<Response> {
    if (this.#received.length > 0) throw this.#fail(`bytes without a request: ${this.#excerpt()}`)
    const socket = this.#socket !== undefined && !this.#ended ? this.#socket : await this.#open()
    socket.write(bytes)
    let isTimedOut = false
    const timer = setTimeout(() => {
      isTimedOut = true
      socket.destroy()
    }, responseTimeoutMs)
    try {
      const response = await this.#readResponse(method)
      if (response.headers.get('connection') === 'close') await this.#readEnd(method)
      return response
    } catch (error) {
      throw isTimedOut ? new ProtocolError(`no response within ${responseTimeoutMs / 1000} s`) : error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
    this.#received = Buffer.alloc(0)
    this.#ended = false
  }

  async #open(): Promise<net.Socket> {
    this.close()
    const { isSecure, host, port } = addressOf(this.origin)
    const socket = isSecure ? tls.connect({ host, port, servername: host }) : net.connect({ host, port })
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      if (this.#socket !== socket) return
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    const end = () => {
      if (this.#socket !== socket) return
      this.#ended = true
      this.#wake()
    }
    socket.on('end', end).on('close', end)
    this.#socket = socket
    await connected(socket, isSecure ? 'secureConnect' : 'connect')
    return socket
  }

  async #readResponse(method: string): Promise<Response> {
    const head = await this.#readHead()
    const [first = '', ...lines] = head.split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(first)?.[1])
    if (!status) throw this.#fail(`invalid status line: ${JSON.stringify(first.slice(0, 80))}`)
    const headers = this.#readHeaders(lines)
    if (status < 200) return this.#readResponse(method) // informational
    const isBodiless = method === 'HEAD' || status === 204 || status === 304
    return { status, headers, body: isBodiless ? Buffer.alloc(0) : await this.#readBody(headers) }
  }

  async #readHead(): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n')
      if (end >= 0) return this.#take(end + 4).toString('latin1', 0, end)
      await this.#more()
    }
  }

  #readHeaders(lines: readonly string[]): Map<string, string> {
    const headers = new Map<string, string>()
    for (const line of lines) {
      const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+): ?([\x20-\x7e]*)$/.exec(line) ?? []
      if (name === '') throw this.#fail(`invalid header: ${JSON.stringify(line.slice(0, 80))}`)
      if (headers.has(name.toLowerCase())) throw this.#fail(`duplicate header ${name}`)
      headers.set(name.toLowerCase(), value)
    }
    return headers
  }

  async #readBody(headers: ReadonlyMap<string, string>): Promise<Buffer> {
    const length = headers.get('content-length')
    if (length === undefined || !/^\d+$/.test(length)) throw this.#fail(`invalid Content-Length ${length}`)
    while (this.#received.length < Number(length)) await this.#more()
    return this.#take(Number(length))
  }

  async #readEnd(method: string): Promise<void> {
    while (!this.#ended) await this.#more()
    // A server that failed to parse a HEAD request sends a body, since it does not know the method.
    if (this.#received.length > 0 && method !== 'HEAD')
      throw this.#fail(`bytes after the last response: ${this.#excerpt()}`)
    this.close()
  }

  #take(length: number): Buffer {
    const bytes = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return bytes
  }

  async #more(): Promise<void> {
    if (this.#ended) throw this.#fail(`connection closed after ${this.#received.length} bytes of a response`)
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  #excerpt(): string {
    return JSON.stringify(this.#received.subarray(0, 80).toString('latin1'))
  }

  #fail(message: string): ProtocolError {
    this.close()
    return new ProtocolError(message)
  }
}

/**
 * Sends a request and resets the connection at once, without waiting for a response.
 * @throws {ProtocolError} if the connection fails
 */
export async function sendAndReset(origin: string, bytes: Uint8Array): Promise<void> {
  const { host, port } = addressOf(origin)
  const socket = net.connect({ host, port })
  await connected(socket, 'connect')
  socket.write(bytes)
  socket.resetAndDestroy()
}

// Later errors are ignored: the end of the connection tells.
async function connected(socket: net.Socket, event: string): Promise<void> {
  socket.on('error', () => {})
  await once(socket, event).catch((error) => {
    throw new ProtocolError(`connection failed: ${error.message}`)
  })
}

function addressOf(origin: string) {
  const { protocol, hostname: host, port } = new URL(origin)
  const isSecure = protocol === 'https:'
  return { isSecure, host, port: Number(port || (isSecure ? 443 : 80)) }
}
