// A plain proxy in front of several instances: it asks each for its health, sends a request to one that is well, and the
// next to another. It sends nothing twice but what never left it.

import { once } from 'node:events'
import http from 'node:http'
import type net from 'node:net'

const healthEveryMs = 50

export class Balancer {
  readonly #server = http.createServer((request, response) => this.#pass(request, response))
  readonly #isWell = new Map<string, boolean>()
  #timer: NodeJS.Timeout | undefined
  #next = 0

  /** Starts it; its address. */
  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    this.#timer = setInterval(() => void this.check(), healthEveryMs)
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  async add(origin: string): Promise<void> {
    this.#isWell.set(origin, false)
    await this.check()
  }

  remove(origin: string): void {
    this.#isWell.delete(origin)
  }

  /** Asks every instance whether it can serve. */
  async check(): Promise<void> {
    await Promise.all(
      [...this.#isWell.keys()].map(async (origin) => {
        const isWell = await fetch(`${origin}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )
        if (this.#isWell.has(origin)) this.#isWell.set(origin, isWell)
      }),
    )
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #pass(request: http.IncomingMessage, response: http.ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => this.#forward(request, Buffer.concat(chunks), response))
  }

  #forward(
    { method, url, headers }: http.IncomingMessage,
    body: Buffer,
    response: http.ServerResponse,
  ): void {
    const well = [...this.#isWell].filter(([, isWell]) => isWell).map(([origin]) => origin)
    const origin = well[this.#next++ % well.length]
    if (origin === undefined) return void response.writeHead(502).end('no instance is well')
    const options = { method, agent: false as const, headers: { ...headers, connection: 'close' } }
    const forwarded = http.request(origin + url, options, (answer) => {
      const { connection: _, ...others } = answer.headers
      response.writeHead(answer.statusCode ?? 502, others)
      answer.pipe(response)
    })
    forwarded.on('error', (error) => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end(error.message)
    })
    forwarded.end(body)
  }
}
