// A run: sends generated requests over several connections, checks each response, and shrinks each distinct failure once.

import fc from 'fast-check'
import { checkResponse } from './check.js'
import { Connection, ProtocolError, sendAndReset } from './connection.js'
import { type Request, toBytes, toCurl } from './request.js'
import { requests, type Service, validRequests } from './requests.js'

export interface FuzzOptions extends Service {
  readonly requests: number
  readonly seed: number
}

/** A failure, with the smallest request found that causes it. */
export interface Failure {
  readonly request: Request
  readonly problem: string
  readonly curl: string
}

export interface FuzzResult {
  readonly requests: number
  readonly seconds: number
  readonly statuses: ReadonlyMap<number, number>
  readonly failures: readonly Failure[]
}

// Changing it changes the requests of a seed.
const connections = 16
const failuresMax = 20
// One in so many requests is first sent by a client that resets the connection, then again.
const resetEvery = 10
const shrinksMax = 500

/** Sends that many requests. They are the same for the same seed, given a new service. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const startMs = performance.now()
  const run = new Run(options)
  await seedData(options)
  const arbitrary = requests(options, await findLinks(options))
  const shares = Array.from({ length: connections }, (_, i) =>
    Math.floor((options.requests + i) / connections),
  )
  await Promise.all(shares.map((share, i) => run.send(arbitrary, share, options.seed * connections + i)))
  const seconds = (performance.now() - startMs) / 1000
  return { requests: run.sent, seconds, statuses: run.statuses, failures: run.failures }
}

class Run {
  readonly statuses = new Map<number, number>()
  readonly failures: Failure[] = []
  sent = 0

  constructor(readonly service: Service) {}

  // fast-check stops at a failure, so the remaining requests are sent by further checks, which ignore known failures.
  async send(arbitrary: fc.Arbitrary<Request>, count: number, seed: number): Promise<void> {
    const connection = new Connection(this.service.origin)
    for (let left = count, round = 0; left > 0 && this.failures.length < failuresMax; round++) {
      const shrinking: { signature?: string } = {}
      const property = fc.asyncProperty(fc.limitShrink(arbitrary, shrinksMax), async (request) => {
        left--
        await this.#assertPasses(request, connection, shrinking)
      })
      const details = await fc.check(property, { numRuns: left, seed: seed + round * 1_000_003 })
      if (!details.failed) break
      const [request] = details.counterexample ?? []
      if (request === undefined) throw details.errorInstance ?? new Error('no request could be generated')
      this.#addFailure(request, (details.errorInstance as Error).message)
    }
    connection.close()
  }

  // While a failure is being shrunk, other failures pass: shrinking must not drift to one of them.
  async #assertPasses(
    request: Request,
    connection: Connection,
    shrinking: { signature?: string },
  ): Promise<void> {
    const problem = await this.#exchange(request, connection)
    if (problem === undefined || this.#isKnown(request, problem)) return
    const signature = signatureOf(request, problem)
    shrinking.signature ??= signature
    if (signature === shrinking.signature) throw new Error(problem)
  }

  // A failure is known if an earlier one has its signature and needed no other kinds of mutations.
  #isKnown(request: Request, problem: string): boolean {
    return this.failures.some((known) => {
      const isSame = signatureOf(known.request, known.problem) === signatureOf(request, problem)
      return isSame && kindsOf(known.request).every((kind) => kindsOf(request).includes(kind))
    })
  }

  async #exchange(request: Request, connection: Connection): Promise<string | undefined> {
    this.sent++
    const bytes = toBytes(request)
    try {
      if (this.sent % resetEvery === 0) await sendAndReset(this.service.origin, bytes)
      const response = await connection.exchange(bytes, request.method)
      this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1)
      return checkResponse(request, response, this.service.contract)
    } catch (error) {
      if (error instanceof ProtocolError) return error.message
      throw error
    }
  }

  // Another connection may have found the same failure meanwhile.
  #addFailure(request: Request, problem: string): void {
    if (this.failures.length >= failuresMax || this.#isKnown(request, problem)) return
    this.failures.push({ request, problem, curl: toCurl(request, this.service.origin) })
  }
}

// Identifies a failure by operation and problem, without the values in it.
function signatureOf({ operation }: Request, problem: string): string {
  return `${operation} ${problem.replace(/"(?:[^"\\]|\\.)*"|-?\d{4,}/g, '…')}`
}

function kindsOf({ mutations }: Request): string[] {
  return mutations.map((each) => each.split(' ')[0] ?? '')
}

const seedRequests = 10
const pagesMax = 20

// Creates data to read and list.
async function seedData(service: Service): Promise<void> {
  const connection = new Connection(service.origin)
  const { operations } = service.contract
  for (const operation of operations.filter(({ method, body }) => method === 'POST' && body !== undefined)) {
    for (const request of fc.sample(validRequests(operation, service), { numRuns: seedRequests, seed: 1 })) {
      await connection.exchange(toBytes(request), request.method)
    }
  }
  connection.close()
}

// Collects `next` links of lists. Cursors are opaque, so a generated request cannot contain a valid one.
async function findLinks({ origin, contract, keys }: Service): Promise<string[]> {
  const connection = new Connection(origin)
  const links: string[] = []
  for (const { method, path, parameters } of contract.operations) {
    if (method !== 'GET' || path.includes('{') || !parameters.some(({ name }) => name === 'limit')) continue
    for (let target: string | undefined = `${path}?limit=1`, page = 0; target && page < pagesMax; page++) {
      const request = `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.open}\r\n\r\n`
      const { headers } = await connection.exchange(Buffer.from(request), 'GET')
      target = /<([^<>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
      if (target !== undefined) links.push(target)
    }
  }
  connection.close()
  return links
}
