// A round-robin load balancer with health checks and without retries.

import { once } from 'node:events'
import http from 'node:http'
import type net from 'node:net'

const healthCheckIntervalMs = 50

export class Balancer {
  readonly #server = http.createServer((request, response) => this.#forward(request, response))
  readonly #isHealthy = new Map<string, boolean>()
  #timer: NodeJS.Timeout | undefined
  #next = 0

  /** Starts it, and returns its origin. */
  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    this.#timer = setInterval(() => void this.check(), healthCheckIntervalMs)
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  async add(origin: string): Promise<void> {
    this.#isHealthy.set(origin, false)
    await this.check()
  }

  remove(origin: string): void {
    this.#isHealthy.delete(origin)
  }

  /** Checks `/readyz` of every instance. */
  async check(): Promise<void> {
    await Promise.all(
      [...this.#isHealthy.keys()].map(async (origin) => {
        const isHealthy = await fetch(`${origin}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )
        if (this.#isHealthy.has(origin)) this.#isHealthy.set(origin, isHealthy)
      }),
    )
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #forward(request: http.IncomingMessage, response: http.ServerResponse): void {
    const { method, url, headers } = request
    const healthy = [...this.#isHealthy].filter(([, isHealthy]) => isHealthy).map(([origin]) => origin)
    const origin = healthy[this.#next++ % healthy.length]
    if (origin === undefined) return void response.writeHead(502).end('no healthy instance')
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
    request.pipe(forwarded)
  }
}
