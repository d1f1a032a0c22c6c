// Counts of clients that all instances share: one script looks and counts, for step by step it would take three round trips for every
// request, and others could come in between. What the requests of one iteration of the event loop ask of a client is one call.

import type { ChainableCommander, Cluster, Redis } from 'ioredis'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../contract/types.js'
import { createCoalesce } from '../lib/coalesce.js'
import {
  type ClientCounter,
  type ClientWindows,
  dayMs,
  type KnownWindows,
  minuteMs,
  used,
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

// KEYS: ban, minute, day. ARGV: how many requests ask (0: only look), what the minute and the day allow, their lengths; then what whoever
// asks knows of each: how many were counted, and until when. Most requests are admitted, so the ends of windows are asked for where they
// were not just counted in.
const admit = `${count}
  local current = redis.call('mget', unpack(KEYS))
  for i, key in ipairs(KEYS) do
    current[i] = tonumber(current[i] or 0)
    local missing = tonumber(ARGV[4 + 2 * i]) - current[i]
    if missing > 0 then
      current[i] = redis.call('incrby', key, missing)
      redis.call('pexpire', key, ARGV[5 + 2 * i])
    end
  end
  local ban, minute, day = unpack(current)
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
  admitClient(...args: Arguments): Promise<Counted>
  rejectClient(...args: Arguments): Promise<[ban: number, banTtl: number]>
}

interface Asker {
  readonly client: Client
  readonly known: KnownWindows | undefined
}

type Answers = ReadonlyMap<Asker, ClientWindows | Error>

export class RedisClientCounter implements ClientCounter {
  readonly #redis: (Redis | Cluster) & Scripts
  readonly #coalesce = createCoalesce<Asker, Answers>()

  constructor(
    redis: Redis | Cluster,
    readonly rules: RateLimits['ban'],
  ) {
    redis.defineCommand('admitClient', { numberOfKeys: 3, lua: admit })
    redis.defineCommand('rejectClient', { numberOfKeys: 2, lua: reject })
    this.#redis = redis as (Redis | Cluster) & Scripts
  }

  async count(client: Client, known?: KnownWindows): Promise<ClientWindows> {
    const asker = { client, known }
    const answers = await this.#coalesce('', asker, (askers) => this.#countAll(askers))
    const answer = answers.get(asker) as ClientWindows | Error // each has one
    if (answer instanceof Error) throw answer
    return answer
  }

  /** The same without counting. */
  async look(client: Client): Promise<ClientWindows> {
    return windowsOf(client, await this.#redis.admitClient(...admission(client, 0, undefined)), 1)
  }

  async reject({ keyId }: Client): Promise<WindowState | undefined> {
    const { rejections, withinSeconds, banSeconds } = this.rules
    const keys = [key('rejections', keyId), key('ban', keyId)]
    const lengths = [rejections, withinSeconds * 1000, banSeconds * 1000]
    const [ban, ttl] = await this.#redis.rejectClient(...keys, ...lengths)
    return ban === 0 ? undefined : state(ban, ttl, 1)
  }

  async #countAll(askers: readonly Asker[]): Promise<Answers> {
    const byClient = new Map<Client, Asker[]>()
    for (const asker of askers) {
      const together = byClient.get(asker.client)
      if (together === undefined) byClient.set(asker.client, [asker])
      else together.push(asker)
    }
    const calls = Array.from(byClient, ([client, together]) =>
      admission(client, together.length, together.at(-1)?.known),
    )
    const results = await this.#admitAll(calls)
    const answers = new Map<Asker, ClientWindows | Error>()
    for (const [i, [client, together]] of [...byClient].entries()) {
      const [error, counted] = results[i] as [Error | null, Counted]
      for (const [nth, asker] of together.entries())
        answers.set(asker, error ?? windowsOf(client, counted, nth + 1))
    }
    return answers
  }

  // A pipeline is one write, and need not wait for the one before it. In a cluster it would fail where its slots are on several servers, or
  // one of them is being moved; single calls are sent on to where their slot is.
  async #admitAll(calls: readonly Arguments[]): Promise<[Error | null, Counted?][]> {
    if (this.#redis.isCluster)
      return Promise.all(
        calls.map((call) =>
          this.#redis.admitClient(...call).then(
            (counted): [null, Counted] => [null, counted],
            (error): [Error] => [error],
          ),
        ),
      )
    const pipeline = this.#redis.pipeline() as ChainableCommander & Scripts
    for (const call of calls) void pipeline.admitClient(...call)
    return (await pipeline.exec()) as [Error | null, Counted?][]
  }
}

type Arguments = (string | number)[]

function admission({ keyId, quotas }: Client, requests: number, known: KnownWindows | undefined): Arguments {
  const keys = [key('ban', keyId), key('minute', keyId), key('day', keyId)]
  const before = known
    ? [known.ban, known.minute, known.day].flatMap((window) => [used(window), window.ttl])
    : [0, 0, 0, 0, 0, 0]
  return [...keys, requests, quotas.perMinute, quotas.perDay, minuteMs, dayMs, ...before]
}

// The braces keep a key's counts together in a cluster of Redis servers, as a script wants them.
function key(kind: string, keyId: string): string {
  return `{${keyId}}:${kind}`
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
