// Counters of clients in Redis, shared by all instances. One Lua script reads and counts, atomically and in one round trip instead of
// three. A client's requests of one iteration of the event loop are one call of the script.

import type { ChainableCommander, Cluster, Redis } from 'ioredis'
import type { Client } from '../auth/client.js'
import { oncePerIteration } from '../lib/coalesce.js'
import type { RateLimits } from '../openapi/index.js'
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

// KEYS: ban, minute, day.
// ARGV: the number of requests (0 only reads), the quotas of the minute and the day, the lengths of the two windows; then for each key
// the count and the ttl that the caller knows, below which no window starts.
// Most requests are admitted, and their ttl comes from counting them. PTTL is called for the others alone.
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

// KEYS: rejections, ban. ARGV: tolerated rejections, the length of their window, the length of the ban.
const reject = `${count}
  local ban, banTtl = 0, 0
  if count(KEYS[1], 1, ARGV[2]) > tonumber(ARGV[1]) then ban, banTtl = count(KEYS[2], 1, ARGV[3]) end
  return { ban, banTtl }
`

type AdmitReply = readonly [
  admitted: number,
  ban: number,
  banTtl: number,
  minute: number,
  minuteTtl: number,
  day: number,
  dayTtl: number,
]

interface Scripts {
  admitClient(...args: Arguments): Promise<AdmitReply>
  rejectClient(...args: Arguments): Promise<[ban: number, banTtl: number]>
}

interface CountCall {
  readonly client: Client
  readonly known: KnownWindows | undefined
}

export class RedisClientCounter implements ClientCounter {
  readonly #redis: (Redis | Cluster) & Scripts
  readonly #countInRedis = oncePerIteration<CountCall, ClientWindows | Error>((calls) =>
    this.#countAll(calls),
  )

  constructor(
    redis: Redis | Cluster,
    readonly rules: RateLimits['ban'],
  ) {
    redis.defineCommand('admitClient', { numberOfKeys: 3, lua: admit })
    redis.defineCommand('rejectClient', { numberOfKeys: 2, lua: reject })
    this.#redis = redis as (Redis | Cluster) & Scripts
  }

  async count(client: Client, known?: KnownWindows): Promise<ClientWindows> {
    const result = await this.#countInRedis({ client, known })
    if (result instanceof Error) throw result
    return result
  }

  /** Reads a client's windows without counting a request. */
  async read(client: Client): Promise<ClientWindows> {
    return windowsOf(client, await this.#redis.admitClient(...admitArguments(client, 0, undefined)), 1)
  }

  async reject({ keyId }: Client): Promise<WindowState | undefined> {
    const { rejections, withinSeconds, banSeconds } = this.rules
    const keys = [key('rejections', keyId), key('ban', keyId)]
    const lengths = [rejections, withinSeconds * 1000, banSeconds * 1000]
    const [ban, ttl] = await this.#redis.rejectClient(...keys, ...lengths)
    return ban === 0 ? undefined : state(ban, ttl, 1)
  }

  async #countAll(calls: readonly CountCall[]): Promise<(ClientWindows | Error)[]> {
    const byClient = new Map<Client, CountCall[]>()
    for (const call of calls) {
      const same = byClient.get(call.client)
      if (same === undefined) byClient.set(call.client, [call])
      else same.push(call)
    }
    const replies = await this.#admitAll(
      Array.from(byClient, ([client, same]) => admitArguments(client, same.length, same.at(-1)?.known)),
    )
    const results = new Map<CountCall, ClientWindows | Error>()
    for (const [i, [client, same]] of [...byClient].entries()) {
      const [error, reply] = replies[i] as [Error | null, AdmitReply]
      for (const [index, call] of same.entries())
        results.set(call, error ?? windowsOf(client, reply, index + 1))
    }
    return calls.map((call) => results.get(call) as ClientWindows | Error)
  }

  // An explicit pipeline is one write, and unlike ioredis's automatic one does not wait for the previous pipeline. A cluster rejects a
  // pipeline whose slots are on several servers or being moved; single calls are redirected to their slot.
  async #admitAll(calls: readonly Arguments[]): Promise<[Error | null, AdmitReply?][]> {
    if (this.#redis.isCluster)
      return Promise.all(
        calls.map((call) =>
          this.#redis.admitClient(...call).then(
            (reply): [null, AdmitReply] => [null, reply],
            (error): [Error] => [error],
          ),
        ),
      )
    const pipeline = this.#redis.pipeline() as ChainableCommander & Scripts
    for (const call of calls) void pipeline.admitClient(...call)
    return (await pipeline.exec()) as [Error | null, AdmitReply?][]
  }
}

type Arguments = (string | number)[]

function admitArguments(
  { keyId, quotas }: Client,
  requests: number,
  known: KnownWindows | undefined,
): Arguments {
  const keys = [key('ban', keyId), key('minute', keyId), key('day', keyId)]
  const before = known
    ? [known.ban, known.minute, known.day].flatMap((window) => [used(window), window.ttl])
    : [0, 0, 0, 0, 0, 0]
  return [...keys, requests, quotas.perMinute, quotas.perDay, minuteMs, dayMs, ...before]
}

// The braces are a hash tag: a script's keys must be in one slot of a Redis Cluster.
function key(kind: string, keyId: string): string {
  return `{${keyId}}:${kind}`
}

// The windows after the nth of the requests that one call counted.
function windowsOf(
  { quotas }: Client,
  [admitted, ban, banTtl, minute, minuteTtl, day, dayTtl]: AdmitReply,
  nth: number,
): ClientWindows {
  const later = Math.max(0, admitted - nth)
  return {
    isAdmitted: nth <= admitted,
    ban: state(ban, banTtl, 1),
    minute: state(minute - later, minuteTtl, quotas.perMinute),
    day: state(day - later, dayTtl, quotas.perDay),
  }
}

// A Redis key lives through the whole of its last millisecond.
function state(current: number, ttl: number, max: number): WindowState {
  return windowState(current, ttl + 1, max)
}
