// Counts of an instance that has several workers: its primary process keeps them, so that they are exact. What the requests of one
// iteration of a worker's event loop ask is one message.

import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import type { Channel } from '../lib/channel.js'
import { addressesMax, MemoryClientCounter, MemoryStore, type StoreCallback } from './memory.js'
import type { ClientCounter, ClientWindows, WindowState } from './windows.js'

type Question =
  | { readonly kind: 'count'; readonly client: Client }
  | { readonly kind: 'reject'; readonly client: Client }
  | { readonly kind: 'increment'; readonly key: string; readonly windowMs: number }
  | { readonly kind: 'read'; readonly key: string }

interface Questions {
  readonly type: 'counts'
  readonly id: number
  readonly questions: readonly Question[]
}

interface Answers {
  readonly type: 'counts'
  readonly id: number
  /** In the order of the questions; null where there is none. */
  readonly answers: readonly unknown[]
}

/** Answers the questions of a worker, each of which may be asked by any of them. Other messages are somebody else's. */
export type AnswerCounts = (message: unknown) => object | undefined

/** Keeps the counts of all workers. */
export function createCountsAnswerer(limits: RateLimits): AnswerCounts {
  const clients = new MemoryClientCounter(limits.ban)
  const addresses = new MemoryStore({ cache: addressesMax })
  const answer = (question: Question): unknown => {
    let window: unknown = null
    const told: StoreCallback = (_error, result) => {
      window = result
    }
    switch (question.kind) {
      case 'count':
        return clients.count(question.client)
      case 'reject':
        return clients.reject(question.client) ?? null
      case 'increment':
        addresses.incr(question.key, told, question.windowMs)
        return window
      case 'read':
        addresses.read(question.key, told)
        return window
    }
  }
  return (message) => {
    if (!isOfCounts<Questions>(message)) return undefined
    const { id, questions } = message
    return { type: 'counts', id, answers: questions.map(answer) } satisfies Answers
  }
}

function isOfCounts<Message extends Questions | Answers>(message: unknown): message is Message {
  return (message as { type?: unknown } | null)?.type === 'counts'
}

/** Asks the primary. */
export class PrimaryCounts implements ClientCounter {
  #due: { readonly question: Question; readonly resolve: (answer: unknown) => void }[] = []
  readonly #asked = new Map<number, ((answer: unknown) => void)[]>()
  #lastId = 0

  constructor(readonly channel: Channel) {
    channel.listen((message) => {
      if (!isOfCounts<Answers>(message)) return
      const resolvers = this.#asked.get(message.id) ?? []
      this.#asked.delete(message.id)
      for (const [i, resolve] of resolvers.entries()) resolve(message.answers[i])
    })
  }

  count(client: Client): Promise<ClientWindows> {
    return this.#ask({ kind: 'count', client })
  }

  async reject(client: Client): Promise<WindowState | undefined> {
    return (await this.#ask<WindowState | null>({ kind: 'reject', client })) ?? undefined
  }

  /** A store for @fastify/rate-limit. */
  get Store(): new () => FastifyRateLimitStore {
    const tell = (question: Question, callback: StoreCallback) => {
      void this.#ask<{ current: number; ttl: number }>(question).then((window) => callback(null, window))
    }
    return class Store {
      incr(key: string, callback: StoreCallback, timeWindow: number): void {
        tell({ kind: 'increment', key, windowMs: timeWindow }, callback)
      }

      read(key: string, callback: StoreCallback): void {
        tell({ kind: 'read', key }, callback)
      }

      child(): Store {
        return this
      }
    }
  }

  #ask<Answer>(question: Question): Promise<Answer> {
    return new Promise((resolve) => {
      const due = { question, resolve: resolve as (answer: unknown) => void }
      if (this.#due.push(due) === 1) setImmediate(() => this.#send())
    })
  }

  #send(): void {
    const due = this.#due
    this.#due = []
    const id = ++this.#lastId
    this.#asked.set(
      id,
      due.map(({ resolve }) => resolve),
    )
    const questions = due.map(({ question }) => question)
    this.channel.send({ type: 'counts', id, questions } satisfies Questions)
  }
}
