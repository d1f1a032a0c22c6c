// A load of clients: each keeps its connection, and creates and reads pets in turn, whatever the responses.
// Every second create has an `Idempotency-Key`, and is repeated until it succeeds.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { unlessAborted } from 'contract-service/internal/lib/abort'
import type { Ledger } from './ledger.js'

export interface Clients {
  readonly count: number
  /** Between a response and the client's next request. */
  readonly pauseMs: number
  /** Whether clients read from a standby, which may lack a recent create. */
  readonly mayReadStale?: boolean
}

export interface LoadOptions {
  /** `http://127.0.0.1:PORT`, which may be down temporarily. */
  readonly origin: string
  readonly key: string
  readonly clients: Clients
  /** The longest allowed time of a request. */
  readonly boundMs: number
  readonly interruption: AbortSignal
}

interface Response {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

const afterFailureMs = 20

/** A load that runs until it is stopped. */
export class Load {
  readonly #agent = new http.Agent({ keepAlive: true })
  readonly #clients: Promise<void>[]
  #isOver = false
  #served: (() => void)[] = []

  constructor(
    readonly ledger: Ledger,
    readonly options: LoadOptions,
  ) {
    this.#clients = Array.from({ length: options.clients.count }, (_, iteration) => this.#client(iteration))
  }

  /** Resolves when a request that starts from now on succeeds, with the whole milliseconds until then. */
  async untilServed(): Promise<number> {
    const startedAt = performance.now()
    const served = new Promise<void>((resolve) => this.#served.push(resolve))
    await unlessAborted(served, this.options.interruption)
    return Math.round(performance.now() - startedAt)
  }

  /** Waits for the requests in flight. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
    this.#agent.destroy()
  }

  async #client(first: number): Promise<void> {
    for (let iteration = first; !this.#isOver; iteration++) {
      if (iteration % 3 === 0) await this.#read()
      else if (iteration % 3 === 1) await this.#create()
      else await this.#createOnce()
      if (this.options.clients.pauseMs > 0) await delay(this.options.clients.pauseMs)
    }
  }

  async #create(): Promise<void> {
    const name = this.ledger.nextName()
    const response = await this.#request('POST', '/v1/pets', { name })
    if (response?.status === 201) this.#acknowledge(name, response)
    else this.ledger.unknown.add(name)
  }

  // Repeated even after the load has stopped, as a client with an Idempotency-Key does.
  async #createOnce(): Promise<void> {
    const name = this.ledger.nextName()
    const headers = { 'Idempotency-Key': randomUUID() }
    while (!this.options.interruption.aborted) {
      const response = await this.#request('POST', '/v1/pets', { name, headers })
      if (response?.status === 201) return this.#acknowledge(name, response)
    }
  }

  async #read(): Promise<void> {
    const { acknowledged } = this.ledger
    const [name, id] = acknowledged[Math.floor(Math.random() * acknowledged.length)] ?? []
    if (name === undefined) return void (await this.#request('GET', '/v1/pets?limit=1'))
    const response = await this.#request('GET', `/v1/pets/${id}`)
    const isCorrect = response?.status !== 200 || response.text.includes(`{"id":${id},"name":"${name}",`)
    if (!isCorrect) this.ledger.wrong.push(`pet ${id} is ${response.text}, not ${name}`)
  }

  #acknowledge(name: string, { text }: Response): void {
    this.ledger.acknowledged.push([name, /"id":(\d+)/.exec(text)?.[1] ?? ''])
  }

  // Undefined: the connection failed before a response.
  async #request(
    method: string,
    path: string,
    { name, headers = {} }: { name?: string; headers?: Record<string, string> } = {},
  ): Promise<Response | undefined> {
    const startedAt = performance.now()
    const waiting = this.#served
    try {
      const body = name && JSON.stringify({ name, categoryId: 1 })
      const response = await this.#send(method, path, headers, body)
      this.#check(`${method} ${path}`, response, performance.now() - startedAt)
      if (response.status < 300) {
        this.#served = this.#served.filter((each) => !waiting.includes(each))
        for (const resolve of waiting) resolve()
      } else await delay(afterFailureMs)
      return response
    } catch {
      this.ledger.record('no response', performance.now() - startedAt)
      await delay(afterFailureMs)
      return undefined
    }
  }

  #check(request: string, { status, headers, text }: Response, ms: number): void {
    this.ledger.record(String(status), ms)
    const isExpected =
      [200, 201].includes(status) ||
      ([409, 503].includes(status) && headers['retry-after']) ||
      (status === 404 && this.options.clients.mayReadStale)
    if (!isExpected) this.ledger.wrong.push(`${request}: ${status} ${text}`)
    if (ms > this.options.boundMs) this.ledger.wrong.push(`${request}: ${status} after ${Math.round(ms)} ms`)
  }

  async #send(method: string, path: string, own: Record<string, string>, body?: string): Promise<Response> {
    const { origin, key, boundMs } = this.options
    const type =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': body.length }
    const headers = { Authorization: `Bearer ${key}`, ...type, ...own }
    // A request without a response must not block the run.
    const options = { method, agent: this.#agent, headers, timeout: 3 * boundMs }
    const request = http.request(origin + path, options).on('timeout', () => {
      this.ledger.wrong.push(`${method} ${path}: no response`)
      request.destroy(new Error('no response'))
    })
    request.on('error', () => {}).end(body) // a reset while the response is read is an error of both
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) }
  }
}
