// A connection that sends bytes as they are and reads answers by RFC 9112, to the letter: what does not frame is a fault too.

import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'

/** An answer as received. */
export interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** The service did not answer as HTTP has it. */
export class WireError extends Error {
  override name = 'WireError'
}

const answerWithinMs = 20_000

/** Sends one request at a time, over a connection that it keeps while the service does. */
export class Connection {
  #socket: net.Socket | undefined
  #received = Buffer.alloc(0)
  #ended = false
  #wake = () => {}

  constructor(readonly origin: string) {}

  /**
   * Sends a request and waits for its answer.
   * @throws {WireError} when none comes, or one that does not frame
   */
  async exchange(bytes: Uint8Array, method: string): Promise<Answer> {
    if (this.#received.length > 0) throw this.#broken(`bytes that nobody asked for: ${this.#excerpt()}`)
    const socket = this.#socket !== undefined && !this.#ended ? this.#socket : await this.#open()
    socket.write(bytes)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      socket.destroy()
    }, answerWithinMs)
    try {
      const answer = await this.#readAnswer(method)
      if (answer.headers.get('connection') === 'close') await this.#readEnd(method)
      return answer
    } catch (error) {
      throw isLate ? new WireError(`no answer within ${answerWithinMs / 1000} s`) : error
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
    socket.on('error', () => {})
    socket.on('end', end).on('close', end)
    this.#socket = socket
    await new Promise<void>((resolve, reject) => {
      socket.once(isSecure ? 'secureConnect' : 'connect', resolve)
      socket.once('error', (error) => reject(new WireError(`no connection: ${error.message}`)))
    })
    return socket
  }

  async #readAnswer(method: string): Promise<Answer> {
    const head = await this.#readHead()
    const [first = '', ...lines] = head.split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(first)?.[1])
    if (!status) throw this.#broken(`no status line: ${JSON.stringify(first.slice(0, 80))}`)
    const headers = this.#readHeaders(lines)
    if (status < 200) return this.#readAnswer(method) // an interim answer
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
      if (name === '') throw this.#broken(`no header: ${JSON.stringify(line.slice(0, 80))}`)
      if (headers.has(name.toLowerCase())) throw this.#broken(`${name} is there twice`)
      headers.set(name.toLowerCase(), value)
    }
    return headers
  }

  async #readBody(headers: ReadonlyMap<string, string>): Promise<Buffer> {
    const length = headers.get('content-length')
    if (length === undefined || !/^\d+$/.test(length)) throw this.#broken(`a Content-Length of ${length}`)
    while (this.#received.length < Number(length)) await this.#more()
    return this.#take(Number(length))
  }

  async #readEnd(method: string): Promise<void> {
    while (!this.#ended) await this.#more()
    // Whoever could not read the request did not know that HEAD wants no body.
    if (this.#received.length > 0 && method !== 'HEAD')
      throw this.#broken(`bytes after the last answer: ${this.#excerpt()}`)
    this.close()
  }

  #take(length: number): Buffer {
    const taken = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return taken
  }

  async #more(): Promise<void> {
    if (this.#ended)
      throw this.#broken(`the connection ended, after ${this.#received.length} bytes of an answer`)
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  #excerpt(): string {
    return JSON.stringify(this.#received.subarray(0, 80).toString('latin1'))
  }

  #broken(message: string): WireError {
    this.close()
    return new WireError(message)
  }
}

/**
 * Sends a request and resets the connection at once: what becomes of it, nobody hears.
 * @throws {WireError} when there is no connection
 */
export async function sendAndReset(origin: string, bytes: Uint8Array): Promise<void> {
  const { host, port } = addressOf(origin)
  const socket = net.connect({ host, port })
  await once(socket, 'connect').catch((error) => {
    throw new WireError(`no connection: ${error.message}`)
  })
  socket.on('error', () => {}).write(bytes)
  socket.resetAndDestroy()
}

function addressOf(origin: string) {
  const { protocol, hostname: host, port } = new URL(origin)
  const isSecure = protocol === 'https:'
  return { isSecure, host, port: Number(port || (isSecure ? 443 : 80)) }
}
