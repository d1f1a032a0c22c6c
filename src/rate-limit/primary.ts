// Counts of an instance that has several workers: its primary process keeps them, so that they are exact. What the requests of one
// iteration of a worker's event loop ask is one message.

import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import type { Channel } from '../lib/channel.js'
import { createCoalesce } from '../lib/coalesce.js'
import { MemoryClientCounter, MemoryStore, type StoreCallback, type StoredWindow } from './memory.js'
import type { ClientCounter, ClientWindows, KnownWindows, WindowState } from './windows.js'

type Question =
  | { readonly kind: 'count'; readonly client: Client; readonly known: KnownWindows | undefined }
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
  const addresses = new MemoryStore()
  const answer = (question: Question): unknown => {
    switch (question.kind) {
      case 'count':
        return clients.count(question.client, question.known)
      case 'reject':
        return clients.reject(question.client) ?? null
      case 'increment':
        return addresses.increment(question.key, question.windowMs)
      case 'read':
        return addresses.look(question.key)
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

export class PrimaryCounts implements ClientCounter {
  readonly #coalesce = createCoalesce<Question, ReadonlyMap<Question, unknown>>()
  readonly #asked = new Map<number, (answers: Answers['answers']) => void>()
  #lastId = 0

  constructor(readonly channel: Channel) {
    channel.listen((message) => {
      if (!isOfCounts<Answers>(message)) return
      this.#asked.get(message.id)?.(message.answers)
      this.#asked.delete(message.id)
    })
  }

  count(client: Client, known?: KnownWindows): Promise<ClientWindows> {
    return this.#ask({ kind: 'count', client, known })
  }

  async reject(client: Client): Promise<WindowState | undefined> {
    return (await this.#ask<WindowState | null>({ kind: 'reject', client })) ?? undefined
  }

  /** A store for @fastify/rate-limit. */
  get Store(): new () => FastifyRateLimitStore {
    const tell = (question: Question, callback: StoreCallback) => {
      void this.#ask<StoredWindow>(question).then((window) => callback(null, window))
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

  async #ask<Answer>(question: Question): Promise<Answer> {
    const answers = await this.#coalesce('', question, (questions) => this.#askAll(questions))
    return answers.get(question) as Answer // each has one
  }

  async #askAll(questions: readonly Question[]): Promise<ReadonlyMap<Question, unknown>> {
    const id = ++this.#lastId
    const answers = await new Promise<Answers['answers']>((resolve) => {
      this.#asked.set(id, resolve)
      this.channel.send({ type: 'counts', id, questions } satisfies Questions)
    })
    return new Map(questions.map((question, i) => [question, answers[i]]))
  }
}
