// The connection to Redis, and whether it is up. The first failed request marks it down. Later requests do
// not wait for Redis until it has replied to a probe.

import { setTimeout as delay } from 'node:timers/promises'
import { Cluster, type Redis } from 'ioredis'
import type { Logger } from 'pino'
import { boundedText, OperatorError } from '../lib/operator-error.js'
import { type RedisUrl, readRedisUrl } from '../lib/redis-url.js'
import {
  type CertificateLives,
  connectOnce,
  createRedisClient,
  findConnectError,
  isConnectionClosed,
  isMisconfiguration,
  retryDelayMs,
} from './redis-client.js'

// Uses all commands that counting needs, so that a missing permission or a read-only server fails the probe
// instead of requests. The second key does not exist: a cluster refuses such a pair while the slot is being
// moved.
const probe = `
  redis.call('incrby', KEYS[1], 1)
  redis.call('pexpire', KEYS[1], 1000)
  redis.call('pttl', KEYS[1])
  redis.call('mget', KEYS[1], KEYS[2])
`

// Not empty, because an empty hash tag would not put the two keys into one slot.
const defaultHashTag = 'probe'

interface Scripts {
  probeCounting(...keys: readonly string[]): Promise<unknown>
}

export interface RedisConfig {
  readonly redisUrl: string | undefined
  readonly redisTimeoutMs: number
  readonly startTimeoutMs: number
}

export class RedisConnection {
  readonly redis: Redis | Cluster
  /** The certificates of the servers and sentinels, if they have any. */
  readonly certificates: CertificateLives = new Map()
  readonly #place: RedisUrl
  readonly #keyPrefix: string
  #isUp = true
  #isClosed = false
  #probeTimer: NodeJS.Timeout | undefined
  /** The hash tag of the keys that failed: in a cluster, the other servers would still reply to a probe. */
  #failedHashTag = defaultHashTag
  /** The last error of the server, TLS or the network, which explains a closed connection. */
  #lastError: Error | undefined
  #isMisconfigurationLogged = false

  /** @param title the service's title, the prefix of its keys in a shared Redis */
  constructor(
    url: string,
    title: string,
    readonly config: RedisConfig,
    readonly log: Logger,
  ) {
    this.#place = readRedisUrl(url) as RedisUrl // the configuration has validated it
    this.#keyPrefix = keyPrefixOf(title)
    this.redis = this.#createClient((error) => this.#handleError(error))
  }

  #createClient(onerror: (error: Error) => void): Redis | Cluster {
    const redis = createRedisClient(
      this.#place,
      this.#keyPrefix,
      this.config.redisTimeoutMs,
      this.certificates,
    )
    redis.defineCommand('probeCounting', { numberOfKeys: 2, lua: probe })
    for (const event of ['error', 'node error', 'sentinelError']) redis.on(event as 'error', onerror)
    return redis
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /**
   * Connects. Retries an unavailable Redis in the background, and an unknown host for `startTimeoutMs`.
   * @throws {OperatorError} if retrying cannot help: a wrong login, permission or certificate, an unknown
   * host
   */
  async open(): Promise<void> {
    const deadline = performance.now() + this.config.startTimeoutMs
    let error = await errorOf(this.#connect())
    for (let attempt = 1; error !== undefined; attempt++) {
      const cause = (await this.#findConnectError()) ?? this.#causeOf(error)
      const isUnknownHost = cause.code === 'ENOTFOUND'
      if (isMisconfiguration(cause) || (isUnknownHost && performance.now() > deadline))
        throw this.#unusable(boundedText(cause.message))
      if (!isUnknownHost) return this.markDown(cause)
      if (attempt === 1) this.log.warn({ reason: cause.message }, 'waiting for redis')
      await delay(retryDelayMs)
      error = await errorOf(this.#sendProbe())
    }
    await this.#checkServers()
  }

  /**
   * Marks Redis as unavailable after a failed request, until it replies to a probe.
   * @param hashTag the hash tag of the request's keys, so that the probe goes to the server of the same slot
   */
  markDown(error: Error, hashTag = defaultHashTag): void {
    if (!this.#isUp) return
    this.#isUp = false
    this.#failedHashTag = hashTag
    this.log.warn({ reason: this.#causeOf(error).message }, 'redis unavailable, counting in memory')
    this.#scheduleProbe()
  }

  /**
   * While Redis is up, opens a connection beside the one in use, and closes it. Rejects if a reconnection
   * would fail, for example because a certificate or password has expired.
   */
  async tryConnecting(): Promise<void> {
    if (!this.#isUp) return
    let cause: Error | undefined
    const redis = this.#createClient((error) => {
      if (!isConnectionClosed(error)) cause = error
    })
    try {
      await connectOnce(redis)
      await sendProbe(redis, defaultHashTag)
    } catch (error) {
      throw isConnectionClosed(error as Error) ? (cause ?? error) : error
    } finally {
      redis.disconnect()
    }
  }

  /** Closes the connection and stops probing. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#probeTimer)
    this.redis.disconnect()
  }

  async #connect(): Promise<void> {
    await connectOnce(this.redis)
    await this.#sendProbe() // EVAL
    await this.#sendProbe() // EVALSHA, which needs a permission of its own
  }

  #handleError(error: Error): void {
    this.log.debug({ reason: error.message }, 'redis connection error')
    if (isConnectionClosed(error)) return
    this.#lastError = error
    if (this.#isUp || this.#isMisconfigurationLogged || !isMisconfiguration(error)) return
    this.#isMisconfigurationLogged = true
    this.log.error({ reason: error.message }, 'redis rejects the connection')
  }

  #causeOf(error: Error): NodeJS.ErrnoException {
    return isConnectionClosed(error) ? (this.#lastError ?? new Error('connection closed')) : error
  }

  // ioredis does not report why each of several hosts failed, so this tries each once more.
  async #findConnectError(): Promise<NodeJS.ErrnoException | undefined> {
    if (this.#place.kind === 'server') return undefined
    return findConnectError(this.#place, this.config.redisTimeoutMs)
  }

  #unusable(reason: string): OperatorError {
    const hosts = this.#place.hosts.map(({ host, port }) => `${host}:${port}`).join(', ')
    return new OperatorError(
      `cannot use Redis at ${hosts}: ${reason}\nFix the server or REDIS_URL (NODE_EXTRA_CA_CERTS: ` +
        'the file of a certificate authority), or unset REDIS_URL to count in memory.',
    )
  }

  // INFO is optional: without the permission for it, nothing is checked.
  async #checkServers(): Promise<void> {
    const servers = this.redis instanceof Cluster ? this.redis.nodes('master') : [this.redis]
    const infos = await Promise.all(servers.map((server) => server.info().catch(() => '')))
    if (this.#place.kind !== 'cluster' && infos.some((info) => /^cluster_enabled:1/m.test(info)))
      throw this.#unusable('the server is part of a cluster, which requires redis+cluster:// in REDIS_URL')
    const policies = infos.map((info) => /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction')
    for (const policy of new Set(policies))
      if (policy !== 'noeviction')
        this.log.warn({ policy }, 'redis may evict counters, set maxmemory-policy to noeviction')
  }

  #scheduleProbe(): void {
    if (this.#isClosed) return
    this.#probeTimer = setTimeout(() => this.#retry(), retryDelayMs).unref()
  }

  async #retry(): Promise<void> {
    try {
      await this.#sendProbe()
      this.#isUp = true
      this.#lastError = undefined
      this.#isMisconfigurationLogged = false
      this.log.info('redis available again')
    } catch (error) {
      this.#handleError(error as Error)
      this.#scheduleProbe()
    }
  }

  #sendProbe(): Promise<unknown> {
    return sendProbe(this.redis, this.#failedHashTag)
  }
}

// The cast is safe, because `#createClient` defines the command on each client.
function sendProbe(redis: Redis | Cluster, hashTag: string): Promise<unknown> {
  const key = `{${hashTag}}:probe`
  return (redis as (Redis | Cluster) & Scripts).probeCounting(key, `${key}:missing`)
}

function errorOf(promise: Promise<unknown>): Promise<Error | undefined> {
  return promise.then(
    () => undefined,
    (error: Error) => error,
  )
}

// For example, `animal-store-service:` for Animal Store Service.
function keyPrefixOf(title: string): string {
  return `${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-')}:`
}
