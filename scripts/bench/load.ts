// The load: raw sockets that send ready-made requests and only look for where an answer ends. Nothing is pipelined. On two
// cores the generator competes with what it measures, so it does as little as it can; a full HTTP client takes several
// times as much.

import net from 'node:net'
import { performance } from 'node:perf_hooks'
import { Histogram } from './histogram.js'

export interface Job {
  readonly port: number
  /** Whole HTTP/1.1 requests, taken in turn. */
  readonly requests: readonly string[]
  readonly connections: number
  readonly durationMs: number
  /** Requests a second, whether or not answers come. Undefined: each connection sends on as it is answered. */
  readonly rate?: number
}

/** What came back. Latencies in milliseconds, by status. */
export interface LoadResult {
  readonly durationMs: number
  readonly answers: Readonly<Record<string, Latencies>>
  /** Answers in all: also those before and after the time that is measured. */
  readonly total: number
  /** Answers of each second with a 2xx status, and with any other. */
  readonly seconds: readonly { readonly served: number; readonly refused: number }[]
  /** Connections that broke with a request on them. */
  readonly broken: number
  /** With a rate: what was due while every connection was waiting. */
  readonly unsent: number
}

export interface Latencies {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/**
 * Runs a job; resolves once its time is over and what was sent is answered. Without a rate it measures a load under way: what is
 * answered from a moment after the beginning to the end of the time.
 */
export async function runLoad(job: Job): Promise<LoadResult> {
  const load = new Load(job)
  return load.run()
}

// How long answers are waited for after the end.
const drainMs = 2_000
// Until the connections are accepted, and those of the job before are closed.
const leadInMs = 50

class Load {
  readonly #histograms = new Map<number, Histogram>()
  readonly #seconds: { served: number; refused: number }[] = []
  readonly #idle: Connection[] = []
  #connections: Connection[] = []
  #next = 0
  #awaited = 0
  #broken = 0
  #unsent = 0
  #total = 0
  // What is answered between them is measured.
  #begin = Number.POSITIVE_INFINITY
  #end = Number.POSITIVE_INFINITY
  #isOver = false
  #drained: (() => void) | undefined

  constructor(readonly job: Job) {}

  async run(): Promise<LoadResult> {
    const { connections, durationMs, rate } = this.job
    this.#connections = await Promise.all(Array.from({ length: connections }, () => this.#connect()))
    const pace = rate === undefined ? await this.#sendOnEach() : this.#sendAtRate(rate)
    await delay(durationMs)
    const over = performance.now()
    this.#isOver = true
    if (rate === undefined) this.#end = over // with one, what was due in time counts, however late
    clearInterval(pace)
    await this.#drain()
    for (const connection of this.#connections) connection.close()
    return this.#result(over - this.#begin)
  }

  async #sendOnEach(): Promise<undefined> {
    for (const connection of this.#connections) this.#send(connection)
    await delay(leadInMs)
    this.#begin = performance.now()
  }

  #sendAtRate(rate: number): NodeJS.Timeout {
    this.#idle.push(...this.#connections)
    this.#begin = performance.now()
    let due = 0
    return setInterval(() => {
      const now = Math.floor(((performance.now() - this.#begin) / 1000) * rate)
      for (; due < now; due++) {
        const connection = this.#idle.pop()
        if (connection === undefined) this.#unsent++
        else this.#send(connection)
      }
    }, 1)
  }

  async #connect(): Promise<Connection> {
    const connection = new Connection(this.job.port, {
      answered: (status, ms) => this.#answered(connection, status, ms),
      broken: () => this.#lost(connection),
    })
    await connection.opened
    return connection
  }

  #send(connection: Connection): void {
    this.#awaited++
    connection.send(this.job.requests[this.#next++ % this.job.requests.length] as string)
  }

  #answered(connection: Connection, status: number, ms: number): void {
    this.#note(status, ms)
    this.#settled()
    if (this.#isOver) return
    if (this.job.rate === undefined) this.#send(connection)
    else this.#idle.push(connection)
  }

  // Another takes its place.
  #lost(connection: Connection): void {
    if (connection.isWaiting) {
      this.#broken++
      this.#settled()
    }
    if (this.#isOver) return
    this.#connections = this.#connections.filter((each) => each !== connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    void this.#connect().then((fresh) => {
      this.#connections.push(fresh)
      if (this.job.rate === undefined) this.#send(fresh)
      else this.#idle.push(fresh)
    })
  }

  #note(status: number, ms: number): void {
    this.#total++
    const now = performance.now()
    if (now < this.#begin || now > this.#end) return
    let histogram = this.#histograms.get(status)
    if (histogram === undefined) {
      histogram = new Histogram()
      this.#histograms.set(status, histogram)
    }
    histogram.add(ms)
    const second = Math.floor((now - this.#begin) / 1000)
    while (this.#seconds.length <= second) this.#seconds.push({ served: 0, refused: 0 })
    const counts = this.#seconds[second] as { served: number; refused: number }
    if (status >= 200 && status < 300) counts.served++
    else counts.refused++
  }

  #settled(): void {
    this.#awaited--
    if (this.#isOver && this.#awaited === 0) this.#drained?.()
  }

  async #drain(): Promise<void> {
    if (this.#awaited === 0) return
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve
    })
    await Promise.race([drained, delay(drainMs)])
  }

  #result(durationMs: number): LoadResult {
    const answers = [...this.#histograms].map(([status, histogram]) => [status, histogram.latencies()])
    return {
      durationMs,
      answers: Object.fromEntries(answers),
      total: this.#total,
      seconds: this.#seconds,
      broken: this.#broken,
      unsent: this.#unsent,
    }
  }
}

interface Events {
  answered(status: number, ms: number): void
  broken(): void
}

// A socket's callback is done with its bytes when it returns, so all of them read into the same memory.
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024)
const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('0\r\n\r\n')

class Connection {
  readonly opened: Promise<void>
  readonly #socket: net.Socket
  readonly #events: Events
  #sentAt = 0
  #head = Buffer.alloc(0)
  #status = 0
  #bytesLeft = 0
  isWaiting = false

  constructor(port: number, events: Events) {
    this.#events = events
    this.#socket = net.connect({
      port,
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
    this.#socket.on('error', () => {}) // told by the close that follows
    this.opened = new Promise((resolve, reject) => {
      this.#socket.once('connect', resolve)
      this.#socket.once('close', () => reject(new Error(`nothing listens on port ${port}`)))
    })
    void this.opened.then(
      () => this.#socket.once('close', () => this.#events.broken()),
      () => {},
    )
  }

  send(request: string): void {
    this.isWaiting = true
    this.#sentAt = performance.now()
    this.#socket.write(request, 'latin1')
  }

  close(): void {
    this.#socket.removeAllListeners('close')
    this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    if (this.#bytesLeft === 0) this.#readHead(bytes)
    else this.#readBody(bytes)
  }

  #readHead(bytes: Buffer): void {
    const all = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes])
    const end = all.indexOf(headEnd)
    if (end < 0) {
      this.#head = Buffer.from(all)
      return
    }
    const head = all.toString('latin1', 0, end)
    this.#head = Buffer.alloc(0)
    this.#status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#bytesLeft = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
    this.#readBody(all.subarray(end + headEnd.length))
  }

  // Without a length the body comes in chunks, the last of which is empty.
  #readBody(bytes: Buffer): void {
    this.#bytesLeft -= bytes.length
    const isEnd =
      this.#bytesLeft === Number.POSITIVE_INFINITY
        ? bytes.subarray(-lastChunk.length).equals(lastChunk)
        : this.#bytesLeft <= 0
    if (!isEnd) return
    this.#bytesLeft = 0
    this.isWaiting = false
    this.#events.answered(this.#status, performance.now() - this.#sentAt)
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
