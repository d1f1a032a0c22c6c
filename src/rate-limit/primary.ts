// Counters of an instance with several workers: the primary process counts for all of them, so quotas are
// exact. The requests of one iteration of a worker's event loop are sent to it as one message.

import type { Client } from '../auth/client.js'
import type { Channel } from '../lib/channel.js'
import { oncePerIteration } from '../lib/coalesce.js'
import type { RateLimits } from '../openapi/index.js'
import type { StoredWindow } from './addresses.js'
import { type LocalCounter, MemoryCounter } from './memory.js'
import type { ClientWindows, KnownWindows, WindowState } from './windows.js'

interface Call {
  readonly method: keyof LocalCounter
  readonly args: readonly unknown[]
}

interface CallMessage {
  readonly type: 'counts'
  readonly id: number
  readonly calls: readonly Call[]
}

interface ResultMessage {
  readonly type: 'counts'
  readonly id: number
  /** In the order of the calls; null for undefined. */
  readonly results: readonly unknown[]
}

/** The primary's side: returns the reply to a worker's message; undefined if it is not about counts. */
export function createPrimaryCounters(limits: RateLimits): (message: unknown) => object | undefined {
  const counter = new MemoryCounter(limits.ban)
  const run = ({ method, args }: Call): unknown => Reflect.apply(counter[method], counter, args) ?? null
  return (message) => {
    if (!isAboutCounts<CallMessage>(message)) return undefined
    const { id, calls } = message
    return { type: 'counts', id, results: calls.map(run) } satisfies ResultMessage
  }
}

function isAboutCounts<Message extends CallMessage | ResultMessage>(message: unknown): message is Message {
  return (message as { type?: unknown } | null)?.type === 'counts'
}

/** The worker's side: counts clients and addresses in the primary. */
export class PrimaryCounter implements LocalCounter {
  readonly #countInPrimary = oncePerIteration<Call, unknown>((calls) => this.#send(calls))
  readonly #pending = new Map<number, (results: ResultMessage['results']) => void>()
  #lastId = 0

  constructor(readonly channel: Channel) {
    channel.listen((message) => {
      if (!isAboutCounts<ResultMessage>(message)) return
      this.#pending.get(message.id)?.(message.results)
      this.#pending.delete(message.id)
    })
  }

  count(client: Client, known?: KnownWindows): Promise<ClientWindows> {
    return this.#call('count', client, ...(known ? [known] : []))
  }

  async reject(client: Client): Promise<WindowState | undefined> {
    return (await this.#call<WindowState | null>('reject', client)) ?? undefined
  }

  increment(network: string, windowMs: number): Promise<StoredWindow> {
    return this.#call('increment', network, windowMs)
  }

  #call<Result>(method: Call['method'], ...args: Call['args']): Promise<Result> {
    return this.#countInPrimary({ method, args }) as Promise<Result>
  }

  #send(calls: readonly Call[]): Promise<ResultMessage['results']> {
    return new Promise((resolve) => {
      const id = ++this.#lastId
      this.#pending.set(id, resolve)
      this.channel.send({ type: 'counts', id, calls } satisfies CallMessage)
    })
  }
}
