// How a client stands with its ban and its two windows, looked at and counted in one step: in this process, or by one
// script in Redis. Step by step it would take three journeys there for every request, and others could come in between.

import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import type { RateLimits } from '../contract/document.js'
import type { Soon } from '../proceed.js'
import type { Client } from './client.js'
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
const dayMs = 86_400_000
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

const count = `
  local function count(key, windowMs)
    local current = redis.call('incr', key)
    if current > 1 then return current, redis.call('pttl', key) end
    redis.call('pexpire', key, windowMs)
    return current, tonumber(windowMs)
  end
`

// KEYS: ban, minute, day. ARGV: what the minute and the day allow (0: only look), their lengths. Most requests are admitted,
// so the ends of windows are asked for where they were not just counted in.
const admit = `${count}
  local ban, minute, day = unpack(redis.call('mget', unpack(KEYS)))
  ban, minute, day = tonumber(ban or 0), tonumber(minute or 0), tonumber(day or 0)
  if ban == 0 and minute < tonumber(ARGV[1]) and day < tonumber(ARGV[2]) then
    local minuteTtl, dayTtl
    minute, minuteTtl = count(KEYS[2], ARGV[3])
    day, dayTtl = count(KEYS[3], ARGV[4])
    return { 1, 0, 0, minute, minuteTtl, day, dayTtl }
  end
  local function ttl(key) return math.max(redis.call('pttl', key), 0) end
  return { 0, ban, ttl(KEYS[1]), minute, ttl(KEYS[2]), day, ttl(KEYS[3]) }
`

// KEYS: rejections, ban. ARGV: how many are allowed, within what time, length of the ban.
const reject = `${count}
  local ban, banTtl = 0, 0
  if count(KEYS[1], ARGV[2]) > tonumber(ARGV[1]) then ban, banTtl = count(KEYS[2], ARGV[3]) end
  return { ban, banTtl }
`

/** Counts that all instances share. */
export class RedisClientCounts implements ClientCounts {
  readonly #run: Scripts

  constructor(
    redis: Redis,
    readonly rules: RateLimits['ban'],
  ) {
    redis.defineCommand('admitClient', { numberOfKeys: 3, lua: admit })
    redis.defineCommand('rejectClient', { numberOfKeys: 2, lua: reject })
    this.#run = redis as Redis & Scripts
  }

  admit(client: Client): Promise<Tallies> {
    return this.#admit(client, client.quotas.perMinute, client.quotas.perDay)
  }

  look(client: Client): Promise<Tallies> {
    return this.#admit(client, 0, 0)
  }

  async #admit({ keyId }: Client, perMinute: number, perDay: number): Promise<Tallies> {
    const keys = [key('ban', keyId), key('minute', keyId), key('day', keyId)] as const
    const answer = await this.#run.admitClient(...keys, perMinute, perDay, minuteMs, dayMs)
    return {
      isAdmitted: answer[0] === 1,
      ban: tally(answer[1], answer[2]),
      minute: tally(answer[3], answer[4]),
      day: tally(answer[5], answer[6]),
    }
  }

  async reject({ keyId }: Client): Promise<Tally | undefined> {
    const { rejections, withinSeconds, banSeconds } = this.rules
    const keys = [key('rejections', keyId), key('ban', keyId)] as const
    const answer = await this.#run.rejectClient(...keys, rejections, withinSeconds * 1000, banSeconds * 1000)
    return answer[0] === 0 ? undefined : tally(...answer)
  }
}

interface Scripts {
  admitClient(...args: (string | number)[]): Promise<[number, number, number, number, number, number, number]>
  rejectClient(...args: (string | number)[]): Promise<[number, number]>
}

// The braces keep a key's counts together in a cluster of Redis servers, as a script wants them.
function key(kind: string, keyId: string): string {
  return `animal-store:{${keyId}}:${kind}`
}

// Redis lets a key live through the whole of its last millisecond.
function tally(current: number, ttl: number): Tally {
  return { current, ttl: ttl + 1 }
}
