// One HTTP/1.1 connection of the load generator. It writes ready-made requests, and of a response it looks
// only for the end. A full HTTP client takes several times as much CPU, and on two cores it competes with the
// subject.

import net from 'node:net'

// All sockets read into one buffer, because the bytes are consumed or copied before the callback returns.
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024)
const empty = Buffer.alloc(0)
const headEnd = Buffer.from('\r\n\r\n')
const closing = /\r\nconnection: *close/i
const lastChunk = Buffer.from('0\r\n\r\n')

export class Connection {
  #socket: net.Socket | undefined
  #unread = empty
  #pending: { resolve(status: number): void; reject(error: Error): void } | undefined

  constructor(readonly port: number) {}

  /** Connects; rejects if the connection is refused. */
  open(): Promise<void> {
    const socket = net.connect({
      port: this.port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: sharedBuffer,
        callback: (size, bytes) => {
          this.#read(Buffer.from(bytes.buffer, bytes.byteOffset, size))
          return true
        },
      },
    })
    this.#socket = socket
    this.#unread = empty
    socket.on('error', () => {}) // 'close' follows
    return new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('close', () => {
        const lost = new Error(`connection lost on port ${this.port}`)
        reject(lost)
        if (this.#socket !== socket) return // another one is open already
        this.#socket = undefined
        this.#pending?.reject(lost)
      })
    })
  }

  /** Sends a request and resolves to the status of its response. Reconnects if the server has closed. */
  async exchange(request: string): Promise<number> {
    if (this.#socket === undefined) await this.open()
    const status = new Promise<number>((resolve, reject) => {
      this.#pending = { resolve, reject }
    })
    this.#socket?.write(request, 'latin1')
    return status
  }

  close(): void {
    this.#socket?.destroy()
  }

  #read(bytes: Buffer): void {
    const received = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes])
    const response = wholeResponse(received)
    this.#unread = response === undefined ? Buffer.from(received) : empty
    if (response === undefined) return
    // The server will close the connection, perhaps late: the next request must not use it.
    if (response.closes) this.#socket = undefined
    this.#pending?.resolve(response.status)
  }
}

// Returns undefined while the response is incomplete.
function wholeResponse(response: Buffer): { readonly status: number; readonly closes: boolean } | undefined {
  const end = response.indexOf(headEnd)
  if (end < 0) return undefined
  const head = response.toString('latin1', 0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  // Without a length the body is chunked, and the last chunk is empty.
  const isComplete =
    length === undefined
      ? response.subarray(-lastChunk.length).equals(lastChunk)
      : response.length >= end + headEnd.length + Number(length)
  return isComplete ? { status: Number(head.slice(9, 12)), closes: closing.test(head) } : undefined
}
