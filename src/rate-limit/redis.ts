// Client counts that all instances share: one script looks and counts, for step by step it would take three journeys for every
// request, and others could come in between. What the requests of a turn ask of a client is one call of it.

import type { ChainableCommander, Redis } from 'ioredis'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import { type ClientCounts, dayMs, minuteMs, type Tallies } from './memory.js'
import type { Tally } from './memory-store.js'

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

type Admission = readonly [
  admitted: number,
  ban: number,
  banTtl: number,
  minute: number,
  minuteTtl: number,
  day: number,
  dayTtl: number,
]

interface Scripts {
  admitClient(...args: (string | number)[]): Promise<Admission>
  rejectClient(...args: (string | number)[]): Promise<[ban: number, banTtl: number]>
}

// By client: how many of its requests ask together, and what they are told.
type Requests = Map<Client, number>
type Answers = ReadonlyMap<Client, Admission | Error>

/** Counts in Redis. */
export class RedisClientCounts implements ClientCounts {
  readonly #redis: Redis & Scripts
  #turn: { readonly requests: Requests; readonly answers: Promise<Answers> } | undefined

  constructor(
    redis: Redis,
    readonly rules: RateLimits['ban'],
  ) {
    redis.defineCommand('admitClient', { numberOfKeys: 3, lua: admit })
    redis.defineCommand('rejectClient', { numberOfKeys: 2, lua: reject })
    this.#redis = redis as Redis & Scripts
  }

  async admit(client: Client): Promise<Tallies> {
    this.#turn ??= this.#beginTurn()
    const { requests, answers } = this.#turn
    const nth = (requests.get(client) ?? 0) + 1
    requests.set(client, nth)
    const answer = (await answers).get(client) as Admission | Error
    if (answer instanceof Error) throw answer
    return talliesOf(answer, nth)
  }

  async look(client: Client): Promise<Tallies> {
    return talliesOf(await this.#redis.admitClient(...admission(client, 0)), 1)
  }

  async reject({ keyId }: Client): Promise<Tally | undefined> {
    const { rejections, withinSeconds, banSeconds } = this.rules
    const keys = [key('rejections', keyId), key('ban', keyId)] as const
    const answer = await this.#redis.rejectClient(
      ...keys,
      rejections,
      withinSeconds * 1000,
      banSeconds * 1000,
    )
    return answer[0] === 0 ? undefined : tally(...answer)
  }

  #beginTurn() {
    const requests: Requests = new Map()
    const answers = new Promise<Answers>((resolve) => {
      setImmediate(() => {
        this.#turn = undefined
        resolve(this.#ask(requests))
      })
    })
    return { requests, answers }
  }

  // A pipeline is one write, and need not wait for the one before it.
  async #ask(requests: Requests): Promise<Answers> {
    const pipeline = this.#redis.pipeline() as ChainableCommander & Scripts
    for (const [client, count] of requests) void pipeline.admitClient(...admission(client, count))
    const results = (await pipeline.exec()) as [Error | null, Admission][]
    const answers = results.map(([error, answer]) => error ?? answer)
    return new Map([...requests.keys()].map((client, i) => [client, answers[i] as Admission | Error]))
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
function talliesOf([admitted, ban, banTtl, minute, minuteTtl, day, dayTtl]: Admission, nth: number): Tallies {
  const notYet = Math.max(0, admitted - nth)
  return {
    isAdmitted: nth <= admitted,
    ban: tally(ban, banTtl),
    minute: tally(minute - notYet, minuteTtl),
    day: tally(day - notYet, dayTtl),
  }
}

// Redis lets a key live through the whole of its last millisecond.
function tally(current: number, ttl: number): Tally {
  return { current, ttl: ttl + 1 }
}
