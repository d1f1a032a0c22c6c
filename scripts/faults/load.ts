// Clients as they are in life: each keeps its connection, creates and reads animals one after the other, and goes on
// whatever happens. Every second animal is created with an `Idempotency-Key`, and asked for again until it is there.

import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { unlessAborted } from '../../src/lib/abort.js'
import type { Ledger } from './ledger.js'

export interface Clients {
  readonly count: number
  /** Between an answer and the client's next request. */
  readonly pauseMs: number
  /** They read from a standby, which may lack what was just created. */
  readonly mayReadOld?: boolean
}

export interface LoadOptions {
  /** `http://127.0.0.1:PORT`, which may be down at times. */
  readonly origin: string
  readonly key: string
  readonly clients: Clients
  /** No request may take longer. */
  readonly boundMs: number
  readonly interruption: AbortSignal
}

interface Answer {
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

  /** Resolves when the next request that begins from now on is served; with the milliseconds until then. */
  async untilServed(): Promise<number> {
    const began = performance.now()
    const served = new Promise<void>((resolve) => this.#served.push(resolve))
    await unlessAborted(served, this.options.interruption)
    return performance.now() - began
  }

  /** Lets what is under way come to its end. */
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
    const answer = await this.#ask('POST', '/v1/pets', { name })
    if (answer?.status === 201) this.#acknowledge(name, answer)
    else this.ledger.unknown.add(name)
  }

  // To the end, also when the load is over: it is what the key is for.
  async #createOnce(): Promise<void> {
    const name = this.ledger.nextName()
    const headers = { 'Idempotency-Key': randomUUID() }
    while (!this.options.interruption.aborted) {
      const answer = await this.#ask('POST', '/v1/pets', { name, headers })
      if (answer?.status === 201) return this.#acknowledge(name, answer)
    }
  }

  async #read(): Promise<void> {
    const { acknowledged } = this.ledger
    const [name, id] = acknowledged[Math.floor(Math.random() * acknowledged.length)] ?? []
    if (name === undefined) return void (await this.#ask('GET', '/v1/pets?limit=1'))
    const answer = await this.#ask('GET', `/v1/pets/${id}`)
    const isRight = answer?.status !== 200 || answer.text.includes(`{"id":${id},"name":"${name}",`)
    if (!isRight) this.ledger.wrong.push(`pet ${id} is ${answer.text}, not ${name}`)
  }

  #acknowledge(name: string, { text }: Answer): void {
    this.ledger.acknowledged.push([name, /"id":(\d+)/.exec(text)?.[1] ?? ''])
  }

  // Undefined: the connection failed before there was an answer.
  async #ask(
    method: string,
    path: string,
    { name, headers = {} }: { name?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer | undefined> {
    const began = performance.now()
    const waiting = this.#served
    try {
      const body = name && JSON.stringify({ name, categoryId: 1 })
      const answer = await this.#send(method, path, headers, body)
      this.#judge(`${method} ${path}`, answer, performance.now() - began)
      if (answer.status < 300) {
        this.#served = this.#served.filter((each) => !waiting.includes(each))
        for (const resolve of waiting) resolve()
      } else await delay(afterFailureMs)
      return answer
    } catch {
      this.ledger.note('no answer', performance.now() - began)
      await delay(afterFailureMs)
      return undefined
    }
  }

  #judge(what: string, { status, headers, text }: Answer, ms: number): void {
    this.ledger.note(String(status), ms)
    const isExpected =
      [200, 201].includes(status) ||
      ([409, 503].includes(status) && headers['retry-after']) ||
      (status === 404 && this.options.clients.mayReadOld)
    if (!isExpected) this.ledger.wrong.push(`${what}: ${status} ${text}`)
    if (ms > this.options.boundMs) this.ledger.wrong.push(`${what}: ${status} after ${Math.round(ms)} ms`)
  }

  #send(method: string, path: string, own: Record<string, string>, body?: string): Promise<Answer> {
    const { origin, key, boundMs } = this.options
    const type =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': body.length }
    const headers = { Authorization: `Bearer ${key}`, ...type, ...own }
    return new Promise((resolve, reject) => {
      const request = http.request(origin + path, { method, agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk)).on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      })
      // One that is never answered must not hold the run up.
      const timer = setTimeout(() => {
        this.ledger.wrong.push(`${method} ${path}: no answer at all`)
        request.destroy(new Error('no answer'))
      }, 3 * boundMs)
      request.on('error', reject).on('close', () => clearTimeout(timer))
      request.end(body)
    })
  }
}
