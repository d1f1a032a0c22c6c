// How a client stands with its ban and its two windows, looked at and counted in one step.

import { LRUCache } from 'lru-cache'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import type { Soon } from '../lib/maybe-promise.js'
import { type Tally, Window } from './memory-store.js'

/** What a store of client counts answers, in the order of its scripts. */
export interface Tallies {
  readonly isAdmitted: boolean
  readonly ban: Tally
  readonly minute: Tally
  readonly day: Tally
}

/** Client counts, wherever they are kept. */
export interface ClientCounts {
  /** Counts in both windows if the client is not banned and neither of them is used up. */
  admit(client: Client): Soon<Tallies>
  /** The same without counting. */
  look(client: Client): Soon<Tallies>
  /** Notes a rejection; gives the ban that it began or met, if it was one too many. */
  reject(client: Client): Soon<Tally | undefined>
}

export const minuteMs = 60_000
export const dayMs = 86_400_000
// As many as valid keys were made.
const keysMax = 100_000

interface ClientWindows {
  readonly ban: Window
  readonly minute: Window
  readonly day: Window
  readonly rejections: Window
}

/** Counts in this process. */
export class MemoryClientCounts implements ClientCounts {
  readonly #clients = new LRUCache<string, ClientWindows>({ max: keysMax })

  constructor(readonly rules: RateLimits['ban']) {}

  look({ keyId }: Client): Tallies {
    const { ban, minute, day } = this.#windowsOf(keyId)
    return { isAdmitted: false, ban: ban.look(), minute: minute.look(), day: day.look() }
  }

  admit(client: Client): Tallies {
    const { keyId, quotas } = client
    const before = this.look(client)
    const isAdmitted =
      before.ban.current === 0 &&
      before.minute.current < quotas.perMinute &&
      before.day.current < quotas.perDay
    if (!isAdmitted) return before
    const { minute, day } = this.#windowsOf(keyId)
    return { isAdmitted, ban: before.ban, minute: minute.count(minuteMs), day: day.count(dayMs) }
  }

  reject({ keyId }: Client): Tally | undefined {
    const { rejections, ban } = this.#windowsOf(keyId)
    const { current } = rejections.count(this.rules.withinSeconds * 1000)
    return current > this.rules.rejections ? ban.count(this.rules.banSeconds * 1000) : undefined
  }

  #windowsOf(keyId: string): ClientWindows {
    const found = this.#clients.get(keyId)
    if (found !== undefined) return found
    const windows = { ban: new Window(), minute: new Window(), day: new Window(), rejections: new Window() }
    this.#clients.set(keyId, windows)
    return windows
  }
}
