// Counters in Redis, shared by all instances: otherwise n instances would admit n quotas. One Lua script
// reads and counts a client's windows atomically, in one round trip instead of three. One call of the script
// counts all requests of a client in an iteration of the event loop.

import { randomInt } from 'node:crypto'
import type { ChainableCommander, Cluster, Redis } from 'ioredis'
import type { Client } from '../auth/client.js'
import type { RateLimits } from '../auth/plans.js'
import { checkCount, oncePerIteration } from '../lib/shared-calls.js'
import { callerId } from '../middleware/caller-id.js'
import type { AddressStore } from './addresses.js'
import {
  type AddressWindow,
  type ClientCounter,
  type ClientWindows,
  dayMs,
  type KnownWindows,
  minuteMs,
  secondMs,
  used,
  type WindowState,
  windowState,
} from './windows.js'

// The last argument of each script is the number of the call, which the script returns as the last value of
// its reply: ioredis, and each proxy in between, pairs replies with calls only by their order.
//
// A window ends within its length: a new key gets a ttl, and so does a key without one (it was restored or
// persisted) or with a longer one (the clock of Redis went back).
const windows = `
  local call = tonumber(ARGV[#ARGV])
  local function ttl(key, windowMs)
    local left = redis.call('pttl', key)
    if left >= 0 and left <= tonumber(windowMs) then return left end
    redis.call('pexpire', key, windowMs)
    return left == -2 and 0 or tonumber(windowMs)
  end
  local function count(key, by, windowMs)
    local current = redis.call('incrby', key, by)
    return current, ttl(key, windowMs)
  end
`

// KEYS: ban, minute, day. ARGV: the number of requests (0 only reads), the quotas of the minute and the day,
// the lengths of the three windows; then for each key the count and ttl that the caller knows, below which no
// window starts; then the cost of each request. Admitted requests, the usual case, get their ttl from
// counting. Only others need PTTL.
const admit = `${windows}
  local current = redis.call('mget', unpack(KEYS))
  for i, key in ipairs(KEYS) do
    current[i] = tonumber(current[i] or 0)
    local missing = tonumber(ARGV[5 + 2 * i]) - current[i]
    if missing > 0 then
      current[i] = redis.call('incrby', key, missing)
      redis.call('pexpire', key, ARGV[6 + 2 * i])
    end
  end
  local ban, minute, day = unpack(current)
  local cost = tonumber(ARGV[13])
  local left = math.min(tonumber(ARGV[2]) - minute, tonumber(ARGV[3]) - day)
  local admitted = math.min(tonumber(ARGV[1]), math.floor(left / cost))
  if ban == 0 and admitted > 0 then
    local minuteTtl, dayTtl
    minute, minuteTtl = count(KEYS[2], admitted * cost, ARGV[5])
    day, dayTtl = count(KEYS[3], admitted * cost, ARGV[6])
    return { admitted, 0, 0, minute, minuteTtl, day, dayTtl, call }
  end
  return { 0, ban, ttl(KEYS[1], ARGV[4]), minute, ttl(KEYS[2], ARGV[5]), day, ttl(KEYS[3], ARGV[6]), call }
`

// KEYS: the current second's rejection, rejections, ban.
// ARGV: the tolerated rejections, the lengths of the three windows.
const reject = `${windows}
  if count(KEYS[1], 1, ARGV[2]) > 1 then return { 0, 0, call } end
  if count(KEYS[2], 1, ARGV[3]) <= tonumber(ARGV[1]) then return { 0, 0, call } end
  local ban, left = count(KEYS[3], 1, ARGV[4])
  return { ban, left, call }
`

// KEYS: the window of an address. ARGV: its length, the cost of the request, and the quota. A request that
// costs more than one is counted only if it fits within the quota.
const countAddress = `${windows}
  local cost = tonumber(ARGV[2])
  if cost > 1 then
    local current = tonumber(redis.call('mget', KEYS[1])[1] or 0)
    if current + cost > tonumber(ARGV[3]) then return { current, ttl(KEYS[1], ARGV[1]), 0, call } end
  end
  local current, left = count(KEYS[1], cost, ARGV[1])
  return { current, left, 1, call }
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
type CountReply = readonly [current: number, ttl: number]
type AddressReply = readonly [...CountReply, counted: number]

interface Scripts {
  admitClient(...args: Arguments): Promise<unknown>
  rejectClient(...args: Arguments): Promise<unknown>
  countAddress(...args: Arguments): Promise<unknown>
}

const any = Number.MAX_SAFE_INTEGER

/**
 * Checks that a script has replied with whole numbers from 0 to these maxima, and with the call's number. A
 * proxy, or another server at the address, may reply with anything else; that counts as a failure of Redis.
 */
function checkReply<Reply extends readonly number[]>(
  call: number,
  reply: unknown,
  maxima: { readonly [Index in keyof Reply]: number },
): Reply {
  const isValid =
    Array.isArray(reply) &&
    reply.length === maxima.length + 1 &&
    reply.at(-1) === call &&
    maxima.every((max, i) => Number.isSafeInteger(reply[i]) && reply[i] >= 0 && reply[i] <= max)
  if (!isValid) throw new Error('redis replied with something other than the counts of this call')
  return reply as readonly number[] as Reply
}

let calls = randomInt(2 ** 31) // random: a proxy may also mix up the replies of several processes

/** Returns a number for a call that no other call in flight has. */
function numberCall(): number {
  calls = (calls + 1) % 2 ** 31
  return calls
}

interface CountCall {
  readonly client: Client
  readonly cost: number
  readonly known: KnownWindows | undefined
}

export class RedisCounter implements ClientCounter, AddressStore {
  /** Called with the time of each round trip, including failed ones. */
  ontime: ((ms: number) => void) | undefined
  readonly #redis: (Redis | Cluster) & Scripts
  readonly #countInRedis = oncePerIteration<CountCall, ClientWindows | Error>((calls) =>
    this.#countAll(calls),
  )

  constructor(
    redis: Redis | Cluster,
    readonly rules: RateLimits['ban'],
  ) {
    redis.defineCommand('admitClient', { numberOfKeys: 3, lua: admit })
    redis.defineCommand('rejectClient', { numberOfKeys: 3, lua: reject })
    redis.defineCommand('countAddress', { numberOfKeys: 1, lua: countAddress })
    this.#redis = redis as (Redis | Cluster) & Scripts
  }

  async count(client: Client, cost = 1, known?: KnownWindows): Promise<ClientWindows> {
    const result = await this.#countInRedis({ client, cost, known })
    if (result instanceof Error) throw result
    return result
  }

  /** Reads a client's windows without counting a request. */
  async read(client: Client): Promise<ClientWindows> {
    const call = { client, cost: 1, known: undefined }
    const admission = this.#admission(call, 0)
    const reply = await this.#timed(this.#redis.admitClient(...admission.args))
    return windowsOf(call, this.#checkAdmitted(admission, reply), 1)
  }

  async reject(client: Client): Promise<WindowState | undefined> {
    const { rejections, withinSeconds, banSeconds } = this.rules
    const keys = keysOf(client, 'rejected-second', 'rejections', 'ban')
    const lengths = [secondMs, withinSeconds * 1000, banSeconds * 1000]
    const call = numberCall()
    const reply = await this.#timed(this.#redis.rejectClient(...keys, rejections, ...lengths, call))
    const [ban, ttl] = checkReply<CountReply>(call, reply, [any, banSeconds * 1000])
    return ban === 0 ? undefined : state(ban, ttl, 1)
  }

  async increment(network: string, windowMs: number, cost = 1, max = 0): Promise<AddressWindow> {
    const call = numberCall()
    const counted = this.#redis.countAddress(`address:{${network}}`, windowMs, cost, max, call)
    const reply = await this.#timed(counted)
    const [current, ttl, isCounted] = checkReply<AddressReply>(call, reply, [any, windowMs, 1])
    return { current, ttl: ttl + lastMs, isCounted: isCounted === 1 }
  }

  async #countAll(calls: readonly CountCall[]): Promise<(ClientWindows | Error)[]> {
    const groups = alike(calls)
    const admissions = groups.map((same) => this.#admission(same.at(-1) as CountCall, same.length))
    const replies = await this.#timed(this.#admitAll(admissions))
    checkCount(groups.length, replies.length)
    const results = new Map<CountCall, ClientWindows | Error>()
    for (const [i, same] of groups.entries()) {
      const outcome = this.#outcomeOf(admissions[i] as Admission, replies[i] as Reply) // one for each group
      for (const [index, call] of same.entries())
        results.set(call, outcome instanceof Error ? outcome : windowsOf(call, outcome, index + 1))
    }
    return calls.map((call) => results.get(call) as ClientWindows | Error)
  }

  async #timed<Result>(reply: Promise<Result>): Promise<Result> {
    if (this.ontime === undefined) return reply
    const startedAt = performance.now()
    try {
      return await reply
    } finally {
      this.ontime(performance.now() - startedAt)
    }
  }

  #outcomeOf(admission: Admission, [error, reply]: Reply): AdmitReply | Error {
    if (error !== null) return error
    try {
      return this.#checkAdmitted(admission, reply)
    } catch (invalid) {
      return invalid as Error
    }
  }

  #checkAdmitted({ call, requests }: Admission, reply: unknown): AdmitReply {
    const banMs = this.rules.banSeconds * 1000
    return checkReply<AdmitReply>(call, reply, [requests, any, banMs, any, minuteMs, any, dayMs])
  }

  // An explicit pipeline is one write, and unlike the automatic one does not wait for the previous one. A
  // cluster rejects a pipeline whose slots are on several servers or being moved, but redirects single calls
  // to their slot.
  async #admitAll(admissions: readonly Admission[]): Promise<Reply[]> {
    if (this.#redis.isCluster)
      return Promise.all(
        admissions.map(({ args }) =>
          this.#redis.admitClient(...args).then(
            (reply): Reply => [null, reply],
            (error): Reply => [error],
          ),
        ),
      )
    const pipeline = this.#redis.pipeline() as ChainableCommander & Scripts
    for (const { args } of admissions) void pipeline.admitClient(...args)
    return (await pipeline.exec()) ?? []
  }

  #admission({ client, cost, known }: CountCall, requests: number): Admission {
    const call = numberCall()
    const { perMinute, perDay } = client.quotas
    const keys = keysOf(client, 'ban', 'minute', 'day')
    const lengths = [this.rules.banSeconds * 1000, minuteMs, dayMs]
    const before = known
      ? [known.ban, known.minute, known.day].flatMap((window) => [used(window), window.ttl])
      : [0, 0, 0, 0, 0, 0]
    return { call, requests, args: [...keys, requests, perMinute, perDay, ...lengths, ...before, cost, call] }
  }
}

// Groups calls by client and cost.
function alike(calls: readonly CountCall[]): CountCall[][] {
  const byClient = new Map<Client, CountCall[][]>()
  for (const call of calls) {
    const groups = byClient.get(call.client)
    const same = groups?.find(([first]) => first?.cost === call.cost)
    if (same !== undefined) same.push(call)
    else if (groups !== undefined) groups.push([call])
    else byClient.set(call.client, [[call]])
  }
  return [...byClient.values()].flat()
}

// A call of the script for some requests.
interface Admission {
  readonly call: number
  readonly requests: number
  readonly args: Arguments
}

type Arguments = (string | number)[]
type Reply = [error: Error | null, reply?: unknown]

// A Redis key lives to the end of its last millisecond.
const lastMs = 1

// The braces mark a hash tag, because a script's keys must be in one slot of a Redis Cluster.
function keysOf(client: Client, ...kinds: readonly string[]): string[] {
  const tag = `{${callerId(client)}}`
  return kinds.map((kind) => `${tag}:${kind}`)
}

// Returns the windows after the nth request that one call of the script counted.
function windowsOf(
  { client: { quotas }, cost }: CountCall,
  [admitted, ban, banTtl, minute, minuteTtl, day, dayTtl]: AdmitReply,
  nth: number,
): ClientWindows {
  const later = Math.max(0, admitted - nth) * cost
  return {
    isAdmitted: nth <= admitted,
    ban: state(ban, banTtl, 1),
    minute: state(minute - later, minuteTtl, quotas.perMinute),
    day: state(day - later, dayTtl, quotas.perDay),
  }
}

function state(current: number, ttl: number, max: number): WindowState {
  return windowState(current, ttl + lastMs, max)
}
