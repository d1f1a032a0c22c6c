// Counts of clients that all instances share: one script looks and counts, for step by step it would take three round trips for every
// request, and others could come in between. What the requests of one iteration of the event loop ask of a client is one call.

import type { ChainableCommander, Redis } from 'ioredis'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import { createCoalesce } from '../lib/coalesce.js'
import {
  type ClientCounter,
  type ClientWindows,
  dayMs,
  minuteMs,
  type WindowState,
  windowState,
} from './windows.js'

const count = `
  local function count(key, by, windowMs)
    local current = redis.call('incrby', key, by)
    if current > by then return current, redis.call('pttl', key) end
    redis.call('pexpire', key, windowMs)
    return current, tonumber(windowMs)
  end
`

// KEYS: ban, minute, day. ARGV: how many requests ask (0: only look), what the minute and the day allow, their lengths. Most
// requests are admitted, so the ends of windows are asked for where they were not just counted in.
const admit = `${count}
  local ban, minute, day = unpack(redis.call('mget', unpack(KEYS)))
  ban, minute, day = tonumber(ban or 0), tonumber(minute or 0), tonumber(day or 0)
  local admitted = math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - minute, tonumber(ARGV[3]) - day)
  if ban == 0 and admitted > 0 then
    local minuteTtl, dayTtl
    minute, minuteTtl = count(KEYS[2], admitted, ARGV[4])
    day, dayTtl = count(KEYS[3], admitted, ARGV[5])
    return { admitted, 0, 0, minute, minuteTtl, day, dayTtl }
  end
  local function ttl(key) return math.max(redis.call('pttl', key), 0) end
  return { 0, ban, ttl(KEYS[1]), minute, ttl(KEYS[2]), day, ttl(KEYS[3]) }
`

// KEYS: rejections, ban. ARGV: how many are allowed, within what time, length of the ban.
const reject = `${count}
  local ban, banTtl = 0, 0
  if count(KEYS[1], 1, ARGV[2]) > tonumber(ARGV[1]) then ban, banTtl = count(KEYS[2], 1, ARGV[3]) end
  return { ban, banTtl }
`

type Counted = readonly [
  admitted: number,
  ban: number,
  banTtl: number,
  minute: number,
  minuteTtl: number,
  day: number,
  dayTtl: number,
]

interface Scripts {
  admitClient(...args: (string | number)[]): Promise<Counted>
  rejectClient(...args: (string | number)[]): Promise<[ban: number, banTtl: number]>
}

// One request of a client.
interface Asker {
  readonly client: Client
}

type Answers = ReadonlyMap<Asker, ClientWindows | Error>

/** Counts the requests of clients in Redis. */
export class RedisClientCounter implements ClientCounter {
  readonly #redis: Redis & Scripts
  readonly #coalesce = createCoalesce<Asker, Answers>()

  constructor(
    redis: Redis,
    readonly rules: RateLimits['ban'],
  ) {
    redis.defineCommand('admitClient', { numberOfKeys: 3, lua: admit })
    redis.defineCommand('rejectClient', { numberOfKeys: 2, lua: reject })
    this.#redis = redis as Redis & Scripts
  }

  async count(client: Client): Promise<ClientWindows> {
    const asker = { client }
    const answers = await this.#coalesce('', asker, (askers) => this.#countAll(askers))
    const answer = answers.get(asker) as ClientWindows | Error // each has one
    if (answer instanceof Error) throw answer
    return answer
  }

  /** The same without counting. */
  async look(client: Client): Promise<ClientWindows> {
    return windowsOf(client, await this.#redis.admitClient(...admission(client, 0)), 1)
  }

  async reject({ keyId }: Client): Promise<WindowState | undefined> {
    const { rejections, withinSeconds, banSeconds } = this.rules
    const keys = [key('rejections', keyId), key('ban', keyId)]
    const lengths = [rejections, withinSeconds * 1000, banSeconds * 1000]
    const [ban, ttl] = await this.#redis.rejectClient(...keys, ...lengths)
    return ban === 0 ? undefined : state(ban, ttl, 1)
  }

  // A pipeline is one write, and need not wait for the one before it.
  async #countAll(askers: readonly Asker[]): Promise<Answers> {
    const byClient = new Map<Client, Asker[]>()
    for (const asker of askers) {
      const together = byClient.get(asker.client)
      if (together === undefined) byClient.set(asker.client, [asker])
      else together.push(asker)
    }
    const pipeline = this.#redis.pipeline() as ChainableCommander & Scripts
    for (const [client, { length }] of byClient) void pipeline.admitClient(...admission(client, length))
    const results = (await pipeline.exec()) as [Error | null, Counted][]
    const answers = new Map<Asker, ClientWindows | Error>()
    for (const [i, [client, together]] of [...byClient].entries()) {
      const [error, counted] = results[i] as [Error | null, Counted]
      for (const [nth, asker] of together.entries())
        answers.set(asker, error ?? windowsOf(client, counted, nth + 1))
    }
    return answers
  }
}

function admission({ keyId, quotas }: Client, requests: number): (string | number)[] {
  const keys = [key('ban', keyId), key('minute', keyId), key('day', keyId)]
  return [...keys, requests, quotas.perMinute, quotas.perDay, minuteMs, dayMs]
}

// The braces keep a key's counts together in a cluster of Redis servers, as a script wants them.
function key(kind: string, keyId: string): string {
  return `animal-store:{${keyId}}:${kind}`
}

// What the nth of those that asked together is told: they were counted one after the other.
function windowsOf(
  { quotas }: Client,
  [admitted, ban, banTtl, minute, minuteTtl, day, dayTtl]: Counted,
  nth: number,
): ClientWindows {
  const notYet = Math.max(0, admitted - nth)
  return {
    isAdmitted: nth <= admitted,
    ban: state(ban, banTtl, 1),
    minute: state(minute - notYet, minuteTtl, quotas.perMinute),
    day: state(day - notYet, dayTtl, quotas.perDay),
  }
}

// Redis lets a key live through the whole of its last millisecond.
function state(current: number, ttl: number, max: number): WindowState {
  return windowState(current, ttl + 1, max)
}
