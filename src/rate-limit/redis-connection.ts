// The connection to Redis (one server, a cluster, or the master that sentinels name), and whether it is to be relied on. The first request
// that Redis fails tells; those after it do not wait for it again until a probe has been answered.

import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { type RedisUrl, readRedisUrl } from '../lib/redis-url.js'
import { OperatorError } from '../operator-error.js'

// For a connection to be made, and for the answer to one command, though others are answered.
const patienceMs = 1_000
const probeEveryMs = 250

// All that counting needs: a role that may not, or a server that only reads, fails the probe and not a request.
const probe = `
  redis.call('incr', KEYS[1])
  redis.call('incrby', KEYS[1], 1)
  redis.call('pexpire', KEYS[1], 1000)
  redis.call('pttl', KEYS[1])
  redis.call('get', KEYS[1])
  redis.call('mget', KEYS[1])
`

interface Scripts {
  probeCounting(key: string): Promise<unknown>
}

/** What of the configuration is about Redis. */
export type RedisConfig = Pick<Config, 'redisUrl' | 'redisTimeoutMs' | 'startTimeoutMs'>

/** A connection that fails at once when it is down, and soon when nothing comes back on it. */
export class RedisConnection {
  readonly redis: Redis | Cluster
  readonly #place: RedisUrl
  #isUp = true
  /** Why it was last lost, as the server, TLS or the network says. */
  #reason: Error | undefined
  /** What of Redis has failed: in a cluster the other servers would answer a probe. */
  #lostPart = ''
  #saysWhatToMend = false
  #isClosed = false
  #probe: NodeJS.Timeout | undefined

  /**
   * A connection that is silent for `redisTimeoutMs`, while an answer is awaited, is given up.
   * @param title the service's, by which its keys are told from those of others in the same Redis
   */
  constructor(
    url: string,
    title: string,
    readonly config: RedisConfig,
    readonly log: Logger,
  ) {
    this.#place = readRedisUrl(url) as RedisUrl // the configuration has none that it is not
    this.redis = connect(this.#place, keyPrefixOf(title), config.redisTimeoutMs)
    this.redis.defineCommand('probeCounting', { numberOfKeys: 1, lua: probe })
    for (const event of ['error', 'node error', 'sentinelError'])
      this.redis.on(event as 'error', (error: Error) => this.#met(error))
  }

  /** Whether it is worth asking. */
  get isUp(): boolean {
    return this.#isUp
  }

  /**
   * Connects; a Redis that is away is waited for in the background, and a host without an address as long as a start may take.
   * @throws {OperatorError} where it will not mend itself: a login, a permission, a certificate, a name that nobody knows
   */
  async open(): Promise<void> {
    const deadline = performance.now() + this.config.startTimeoutMs
    let error = await failure(this.#connect())
    for (let attempt = 1; error !== undefined; attempt++) {
      const reason = (await this.#whyUnreached()) ?? this.#explain(error)
      const isUnknown = isUnknownHost(reason)
      if (isForOperator(reason) || (isUnknown && performance.now() > deadline)) throw this.#unusable(reason)
      if (!isUnknown) return this.lost(reason)
      if (attempt === 1) this.log.warn({ reason: reason.message }, 'waiting for redis')
      await delay(probeEveryMs)
      error = await failure(this.#ask())
    }
    await this.#inspect()
  }

  /**
   * Redis failed a request: it is not asked again until it answers a probe.
   * @param part what the request's keys have in braces: a probe asks the server of the same slot
   */
  lost(error: unknown, part = ''): void {
    if (!this.#isUp) return
    this.#isUp = false
    this.#lostPart = part
    const { message } = this.#explain(error as Error)
    this.log.warn({ reason: message }, 'redis is away: this instance counts on its own')
    this.#probeSoon()
  }

  /** Ends the connection, and a probe that is due. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#probe)
    this.redis.disconnect()
  }

  // Sentinels are asked again and again, which no promise tells of.
  async #connect(): Promise<void> {
    const given = new AbortController()
    const failed = once(this.redis, 'error', { signal: given.signal }).then(([error]) =>
      Promise.reject(error),
    )
    failed.catch(() => {})
    try {
      await Promise.race([this.redis.connect(), failed])
    } finally {
      given.abort()
    }
    await this.#ask()
    await this.#ask() // the first sends the script, the others its digest, which is another command
  }

  #met(error: Error): void {
    this.log.debug({ reason: error.message }, 'redis connection')
    if (isOpaque(error)) return
    this.#reason = error
    if (this.#isUp || this.#saysWhatToMend || !isForOperator(error)) return
    this.#saysWhatToMend = true
    this.log.error({ reason: error.message }, 'redis stays away until this is mended')
  }

  #explain(error: Error): Error {
    return isOpaque(error) ? (this.#reason ?? new Error('the connection was closed')) : error
  }

  // Where several hosts are tried ioredis keeps to itself why each of them failed, so they are tried once more.
  async #whyUnreached(): Promise<Error | undefined> {
    const { kind, hosts, login, sentinelLogin, isEncrypted } = this.#place
    if (kind === 'server') return undefined
    let reason: Error | undefined
    for (const host of hosts) {
      const options = { ...host, ...(kind === 'sentinel' ? sentinelLogin : login), ...tlsOf(isEncrypted) }
      const server = new Redis({ ...common(this.config.redisTimeoutMs), ...options, retryStrategy: null })
      server.on('error', (error) => {
        reason ??= error
      })
      const error = await failure(server.connect())
      server.disconnect()
      if (error === undefined) return undefined
    }
    return reason
  }

  #unusable({ message }: Error): OperatorError {
    const hosts = this.#place.hosts.map(({ host, port }) => `${host}:${port}`).join(', ')
    return new OperatorError(
      `Cannot use the Redis at ${hosts}: ${message}\nCorrect it or REDIS_URL (NODE_EXTRA_CA_CERTS names the file of a certificate authority); without REDIS_URL the service counts in its own memory.`,
    )
  }

  // What would make counts go wrong one day. A role that may not ask is told nothing.
  async #inspect(): Promise<void> {
    const servers = this.redis instanceof Cluster ? this.redis.nodes('master') : [this.redis]
    const told = await Promise.all(servers.map((server) => server.info().catch(() => '')))
    if (this.#place.kind !== 'cluster' && told.some((each) => /^cluster_enabled:1/m.test(each)))
      throw this.#unusable(
        new Error('it belongs to a cluster, for which REDIS_URL begins with redis+cluster://'),
      )
    const policies = new Set(told.map((each) => /^maxmemory_policy:(\S+)/m.exec(each)?.[1] ?? 'noeviction'))
    policies.delete('noeviction')
    for (const policy of policies)
      this.log.warn(
        { policy },
        'redis forgets counts when its memory is full: set maxmemory-policy to noeviction',
      )
  }

  #probeSoon(): void {
    if (this.#isClosed) return
    this.#probe = setTimeout(() => this.#tryAgain(), probeEveryMs).unref()
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#ask()
      this.#isUp = true
      this.#reason = undefined
      this.#saysWhatToMend = false
      this.log.info('redis is back: instances share their counts')
    } catch (error) {
      this.#met(error as Error)
      this.#probeSoon()
    }
  }

  #ask(): Promise<unknown> {
    return (this.redis as (Redis | Cluster) & Scripts).probeCounting(`{${this.#lostPart}}:probe`)
  }
}

// Of commands that have no answer and connections that end, ioredis says no more than that.
function isOpaque({ message }: Error): boolean {
  return /^(Connection is closed|Stream isn't writeable|Reached the max retries|None of startup nodes|Cluster isn't ready|Failed to refresh slots|All sentinels are unreachable)/.test(
    message,
  )
}

// A login, a permission, a database or a master that is not there, and a certificate or a protocol that does not fit.
function isForOperator({ message, code = '' }: NodeJS.ErrnoException): boolean {
  return (
    /(?:^|because )(?:WRONGPASS|NOAUTH|NOPERM|MOVED|ERR (?:invalid password|(?:invalid )?DB index|unknown command|The user executing the script can't|This instance has cluster support disabled|No such master))/.test(
      message,
    ) || /CERT|^UNABLE_TO_|^INVALID_(CA|PURPOSE)$|^ERR_(TLS|SSL)_/.test(code)
  )
}

function isUnknownHost({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENOTFOUND'
}

async function failure(promise: Promise<unknown>): Promise<Error | undefined> {
  return promise.then(
    () => undefined,
    (error: Error) => error,
  )
}

// Animal Store Service -> animal-store-service:
function keyPrefixOf(title: string): string {
  return `${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-')}:`
}

// Replies as they always were.
type Options = Omit<RedisOptions, 'replyMapping'>

// The arguments of the types are the defaults. Left out they are inferred, over all of Redis' commands: 4 s of the compiler's time.
function connect(place: RedisUrl, keyPrefix: string, timeoutMs: number): Redis | Cluster {
  const { kind, hosts, login, sentinelLogin, isEncrypted, database, master } = place
  const options: Options = { keyPrefix, ...common(timeoutMs), ...login, ...tlsOf(isEncrypted) }
  if (kind === 'cluster')
    return new Cluster<'legacy'>([...hosts], {
      redisOptions: options,
      lazyConnect: true,
      enableOfflineQueue: false,
      enableReadyCheck: false, // the probe is one
      dnsLookup: (address, callback) => callback(null, address), // by name, for that is what a certificate is held against
      slotsRefreshTimeout: patienceMs,
      retryDelayOnFailover: 20, // sixteen times at most: a server that is new, or was a replica, is just being connected to
      retryDelayOnClusterDown: 0,
      clusterRetryStrategy: () => probeEveryMs,
    })
  const retry = {
    db: database,
    enableOfflineQueue: false,
    enableAutoPipelining: true, // one write for what refused requests and addresses ask in one iteration
    retryStrategy: () => probeEveryMs,
    reconnectOnError: ({ message }: Error) => message.includes('READONLY'), // a master that was made a replica: another is found
  }
  if (kind === 'server') return new Redis<'legacy'>({ ...options, ...retry, ...hosts[0] })
  return new Redis<'legacy'>({
    ...options,
    ...retry,
    sentinels: [...hosts],
    name: master as string, // the URL of sentinels has one
    sentinelUsername: sentinelLogin.username as string,
    sentinelPassword: sentinelLogin.password as string,
    ...(isEncrypted && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: () => probeEveryMs,
    sentinelCommandTimeout: patienceMs,
  })
}

function common(timeoutMs: number): Options {
  return {
    lazyConnect: true,
    connectTimeout: Math.max(patienceMs, timeoutMs),
    commandTimeout: Math.max(patienceMs, timeoutMs),
    socketTimeout: timeoutMs,
    enableReadyCheck: false, // the probe is one, and asks for more
    protocol: 2, // asks for no permission
    disableClientInfo: true, // nor does this
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  }
}

function tlsOf(isEncrypted: boolean): Options {
  return isEncrypted ? { tls: {} } : {}
}
