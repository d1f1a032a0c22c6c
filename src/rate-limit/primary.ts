// Counters of an instance with several workers: the primary process counts for all of them, so quotas are exact. The requests of one
// iteration of a worker's event loop are sent to it as one message.

import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import type { Channel } from '../lib/channel.js'
import { createCoalesce } from '../lib/coalesce.js'
import type { AddressStore, StoredWindow } from './addresses.js'
import { MemoryAddressStore, MemoryClientCounter } from './memory.js'
import type { ClientCounter, ClientWindows, KnownWindows, WindowState } from './windows.js'

type Call =
  | { readonly method: 'count'; readonly client: Client; readonly known: KnownWindows | undefined }
  | { readonly method: 'reject'; readonly client: Client }
  | { readonly method: 'increment'; readonly key: string; readonly windowMs: number }
  | { readonly method: 'read'; readonly key: string }

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

/** The primary's side: returns the reply to a worker's message, or undefined if the message is not about counts. */
export function createPrimaryCounters(limits: RateLimits): (message: unknown) => object | undefined {
  const clients = new MemoryClientCounter(limits.ban)
  const addresses = new MemoryAddressStore()
  const run = (call: Call): unknown => {
    switch (call.method) {
      case 'count':
        return clients.count(call.client, call.known)
      case 'reject':
        return clients.reject(call.client) ?? null
      case 'increment':
        return addresses.increment(call.key, call.windowMs)
      case 'read':
        return addresses.read(call.key)
    }
  }
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
export class PrimaryCounter implements ClientCounter, AddressStore {
  readonly #coalesce = createCoalesce<Call, ReadonlyMap<Call, unknown>>()
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
    return this.#call({ method: 'count', client, known })
  }

  async reject(client: Client): Promise<WindowState | undefined> {
    return (await this.#call<WindowState | null>({ method: 'reject', client })) ?? undefined
  }

  increment(key: string, windowMs: number): Promise<StoredWindow> {
    return this.#call({ method: 'increment', key, windowMs })
  }

  read(key: string): Promise<StoredWindow> {
    return this.#call({ method: 'read', key })
  }

  async #call<Result>(call: Call): Promise<Result> {
    const results = await this.#coalesce('', call, (calls) => this.#send(calls))
    return results.get(call) as Result
  }

  async #send(calls: readonly Call[]): Promise<ReadonlyMap<Call, unknown>> {
    const id = ++this.#lastId
    const results = await new Promise<ResultMessage['results']>((resolve) => {
      this.#pending.set(id, resolve)
      this.channel.send({ type: 'counts', id, calls } satisfies CallMessage)
    })
    return new Map(calls.map((call, i) => [call, results[i]]))
  }
}
