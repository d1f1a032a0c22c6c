// ioredis clients that fail fast: for one server, a cluster, or the master that sentinels name.

import { once } from 'node:events'
import tls from 'node:tls'
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { type CertificateLife, shortestLife } from '../lib/certificate-life.js'
import type { RedisUrl } from '../lib/redis-url.js'

// The time to connect, and for the reply to one command while others get theirs.
const commandTimeoutMs = 1_000
/** The delay between two attempts to reach an unavailable Redis. */
export const retryDelayMs = 250

// For the default reply mapping, 'legacy'. It is named because tsc takes 4 seconds to infer it over all
// commands.
type Options = Omit<RedisOptions, 'replyMapping'>

/** The lives of the certificates that hosts have presented, by host name. */
export type CertificateLives = Map<string, CertificateLife>

/**
 * Creates a client. It does not connect yet.
 * @param timeoutMs how long a connection may send nothing while a reply is due, before it is closed
 * @param lives the map for the certificates of its servers
 */
export function createRedisClient(
  place: RedisUrl,
  keyPrefix: string,
  timeoutMs: number,
  lives: CertificateLives,
): Redis | Cluster {
  const { kind, hosts, login, sentinelLogin, isEncrypted, database, master } = place
  const noting = isEncrypted ? { tls: notingLives(lives) } : {}
  const options = { keyPrefix, ...connectionOptions(timeoutMs, isEncrypted), ...noting, ...login }
  if (kind === 'cluster')
    return new Cluster<'legacy'>([...hosts], { ...clusterOptions, redisOptions: options })
  const server = { ...options, ...serverOptions, db: database }
  if (kind === 'server') return new Redis<'legacy'>({ ...server, ...hosts[0] })
  return new Redis<'legacy'>({
    ...server,
    sentinels: [...hosts],
    name: master as string, // readRedisUrl requires it
    sentinelUsername: sentinelLogin.username as string,
    sentinelPassword: sentinelLogin.password as string,
    ...(isEncrypted && { sentinelTLS: notingLives(lives), enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: () => retryDelayMs,
    sentinelCommandTimeout: commandTimeoutMs,
  })
}

function notingLives(lives: CertificateLives): Pick<tls.ConnectionOptions, 'checkServerIdentity'> {
  return {
    checkServerIdentity(host, certificate) {
      const life = shortestLife(certificate)
      if (life !== undefined) lives.set(host, life)
      return tls.checkServerIdentity(host, certificate)
    },
  }
}

/**
 * Connects, or rejects with the first error. By itself, ioredis retries sentinels forever without rejecting.
 */
export async function connectOnce(redis: Redis | Cluster): Promise<void> {
  const attempt = new AbortController()
  const failed = once(redis, 'error', { signal: attempt.signal }).then(([error]) => Promise.reject(error))
  failed.catch(() => {})
  try {
    await Promise.race([redis.connect(), failed])
  } finally {
    attempt.abort()
  }
}

const clusterOptions: ClusterOptions = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableReadyCheck: false, // the probe checks more
  dnsLookup: (address, callback) => callback(null, address), // keep the name, which TLS verifies
  slotsRefreshTimeout: commandTimeoutMs,
  retryDelayOnFailover: 20, // up to 16 times, while a new or promoted server is being connected to
  retryDelayOnClusterDown: 0,
  retryDelayOnTryAgain: 20, // while a slot is moved, when a client's keys are on both servers
  clusterRetryStrategy: () => retryDelayMs,
}

// The options of a single server, and of the master that sentinels name.
const serverOptions: Options = {
  enableOfflineQueue: false,
  enableAutoPipelining: true, // one write for the rejections and addresses of one iteration
  retryStrategy: () => retryDelayMs,
  reconnectOnError: ({ message }) => message.includes('READONLY'), // after a failover, to find the new master
}

/**
 * Connects to each host of a cluster or of sentinels. Returns the first error, or undefined if a host
 * accepts.
 */
export async function findConnectError(place: RedisUrl, timeoutMs: number): Promise<Error | undefined> {
  const { kind, hosts, login, sentinelLogin, isEncrypted } = place
  const options = {
    ...connectionOptions(timeoutMs, isEncrypted),
    ...(kind === 'sentinel' ? sentinelLogin : login),
  }
  let cause: Error | undefined
  for (const host of hosts) {
    const server = new Redis({ ...options, ...host, retryStrategy: null })
    server.on('error', (error) => {
      cause ??= error
    })
    const isConnected = await server.connect().then(
      () => true,
      () => false,
    )
    server.disconnect()
    if (isConnected) return undefined
  }
  return cause
}

function connectionOptions(timeoutMs: number, isEncrypted: boolean): Options {
  return {
    lazyConnect: true,
    connectTimeout: Math.max(commandTimeoutMs, timeoutMs),
    commandTimeout: Math.max(commandTimeoutMs, timeoutMs),
    socketTimeout: timeoutMs,
    enableReadyCheck: false, // the probe checks more
    protocol: 2, // HELLO would require a permission
    disableClientInfo: true, // as would CLIENT SETINFO
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    ...(isEncrypted && { tls: {} }),
  }
}

const closed = [
  /^(Connection is closed|Stream isn't writeable|Reached the max retries|None of startup nodes)/,
  /^(Cluster isn't ready|Failed to refresh slots|All sentinels are unreachable)/,
]

/** True if ioredis only reports that the connection ended. An `error` event has the cause. */
export function isConnectionClosed({ message }: Error): boolean {
  return closed.some((each) => each.test(message))
}

const misconfigured = [
  /(?:^|because )(?:WRONGPASS|NOAUTH|NOPERM|MOVED|ERR (?:unknown command|No such master))/,
  /(?:^|because )ERR (?:invalid password|(?:invalid )?DB index|The user executing the script can't)/,
  /(?:^|because )ERR This instance has cluster support disabled/,
]
const certificateProblem = /CERT|^UNABLE_TO_|^INVALID_(CA|PURPOSE)$|^ERR_(TLS|SSL)_/

/**
 * True if retrying cannot help: the login, permission, database, master, certificate or kind of server is
 * wrong.
 */
export function isMisconfiguration({ message, code = '' }: NodeJS.ErrnoException): boolean {
  return misconfigured.some((each) => each.test(message)) || certificateProblem.test(code)
}
