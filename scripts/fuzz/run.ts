// A run: many requests on several connections, each answer checked, each kind of failure shrunk once.

import fc from 'fast-check'
import { checkAnswer } from './check.js'
import { type Answer, Connection, sendAndReset, WireError } from './connection.js'
import { type Request, toBytes, toCurl } from './request.js'
import { plainRequests, requests, type Service } from './requests.js'

export interface FuzzOptions extends Service {
  readonly requests: number
  readonly seed: number
}

/** One kind of failure, by the smallest request that shows it. */
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

// The number is part of what a seed means.
const connections = 16
const failuresMax = 20
// Of so many requests one is sent once more before, by a caller who goes away.
const resetEvery = 10
const shrinksMax = 500

/** Sends that many requests, the same for the same seed and an empty service. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const began = performance.now()
  const run = new Run(options)
  await stock(options)
  const arbitrary = requests(options, await findLinks(options))
  const shares = Array.from({ length: connections }, (_, i) =>
    Math.floor((options.requests + i) / connections),
  )
  await Promise.all(shares.map((share, i) => run.send(arbitrary, share, options.seed * connections + i)))
  const seconds = (performance.now() - began) / 1000
  return { requests: run.sent, seconds, statuses: run.statuses, failures: run.failures }
}

class Run {
  readonly statuses = new Map<number, number>()
  readonly failures: Failure[] = []
  readonly #problems = new WeakMap<Request, string>()
  sent = 0

  constructor(readonly service: Service) {}

  // After a failure it goes on with what is left, and passes over failures of that kind.
  async send(arbitrary: fc.Arbitrary<Request>, count: number, seed: number): Promise<void> {
    const connection = new Connection(this.service.origin)
    for (let left = count, round = 0; left > 0 && this.failures.length < failuresMax; round++) {
      const pursued: { fault?: string } = {}
      const property = fc.asyncProperty(fc.limitShrink(arbitrary, shrinksMax), async (request) => {
        left--
        return this.#isRight(request, connection, pursued)
      })
      const details = await fc.check(property, { numRuns: left, seed: seed + round * 1_000_003 })
      if (!details.failed) break
      const [request] = details.counterexample ?? []
      if (request === undefined) throw details.errorInstance ?? new Error('nothing could be generated')
      this.#note(request)
    }
    connection.close()
  }

  // While it shrinks, another fault is none: it would lead away from the one that is pursued.
  async #isRight(request: Request, connection: Connection, pursued: { fault?: string }): Promise<boolean> {
    const problem = await this.#exchange(request, connection)
    if (problem === undefined || this.#isKnown(request, problem)) return true
    const fault = faultOf(request, problem)
    if (pursued.fault !== undefined && pursued.fault !== fault) return true
    pursued.fault = fault
    this.#problems.set(request, problem)
    return false
  }

  // It takes no more than is known to bring the same about.
  #isKnown(request: Request, problem: string): boolean {
    return this.failures.some((known) => {
      const isSame = faultOf(known.request, known.problem) === faultOf(request, problem)
      return isSame && kinds(known.request).every((kind) => kinds(request).includes(kind))
    })
  }

  async #exchange(request: Request, connection: Connection): Promise<string | undefined> {
    this.sent++
    const bytes = toBytes(request)
    try {
      if (this.sent % resetEvery === 0) await sendAndReset(this.service.origin, bytes)
      const answer = await connection.exchange(bytes, request.method)
      this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1)
      return checkAnswer(request, answer, this.service.contract)
    } catch (error) {
      if (error instanceof WireError) return error.message
      throw error
    }
  }

  // Another connection may have come upon it meanwhile.
  #note(request: Request): void {
    const problem = this.#problems.get(request) ?? 'it failed once'
    if (this.failures.length >= failuresMax || this.#isKnown(request, problem)) return
    this.failures.push({ request, problem, curl: toCurl(request, this.service.origin) })
  }
}

// The same is wrong in the same place, whatever the values.
function faultOf({ operation }: Request, problem: string): string {
  return `${operation} ${problem.replace(/"(?:[^"\\]|\\.)*"|-?\d{4,}/g, '…')}`
}

function kinds({ mutations }: Request): string[] {
  return mutations.map((each) => each.split(' ')[0] ?? '')
}

const stockSize = 10
const pagesMax = 20

// Something to read and to list: the smallest bodies that the document takes.
async function stock(service: Service): Promise<void> {
  const connection = new Connection(service.origin)
  const { operations } = service.contract
  for (const operation of operations.filter(({ method, body }) => method === 'POST' && body !== undefined)) {
    for (const request of fc.sample(plainRequests(operation, service), { numRuns: stockSize, seed: 1 })) {
      await connection.exchange(toBytes(request), request.method)
    }
  }
  connection.close()
}

// The `next` links of its pages: nobody may build one, so nothing else can tell what works.
async function findLinks({ origin, contract, keys }: Service): Promise<string[]> {
  const connection = new Connection(origin)
  const links: string[] = []
  for (const { method, path, parameters } of contract.operations) {
    if (method !== 'GET' || path.includes('{') || !parameters.some(({ name }) => name === 'limit')) continue
    for (let target: string | undefined = `${path}?limit=1`, page = 0; target && page < pagesMax; page++) {
      const request = `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.open}\r\n\r\n`
      const { headers }: Answer = await connection.exchange(Buffer.from(request), 'GET')
      target = /<([^<>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
      if (target !== undefined) links.push(target)
    }
  }
  connection.close()
  return links
}
