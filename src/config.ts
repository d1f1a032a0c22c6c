// The only reader of the environment. Operators' choices stand here; what API consumers are promised
// stands in the contract.

import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { pino } from 'pino'
import { misspelt } from './lib/misspelt.js'
import { readPostgresUrl } from './lib/postgres-url.js'
import { readRedisUrl } from './lib/redis-url.js'
import { OperatorError } from './operator-error.js'

/** What an operator chooses. Durations are in milliseconds. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Where `/metrics` is answered, and nothing else; undefined: nothing is measured. */
  readonly metricsPort: number | undefined
  /** Undefined: the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined
  /** Standbys that requests read from; undefined: they read where they write. */
  readonly databaseReadUrl: string | undefined
  /** Connections to the database that requests may take, of all processes together. */
  readonly databaseConnections: number
  /** Undefined: requests are counted in this process alone. */
  readonly redisUrl: string | undefined
  /** A Redis that says nothing for so long while an answer is awaited is away. */
  readonly redisTimeoutMs: number
  /** Undefined: the default place, see `embedded.ts`. */
  readonly dataDir: string | undefined
  /** Where spans go, by OTLP over HTTP; undefined: no request is traced. OpenTelemetry reads it, and other variables of its own, itself. */
  readonly otlpEndpoint: string | undefined
  readonly logLevel: string
  /** Whether the log tells callers' addresses. */
  readonly isAddressLogged: boolean
  /** Whose `X-Forwarded-For` is believed: Fastify's `trustProxy`. */
  readonly trustProxy: boolean | string[]
  /** Whose pages may call the service from a browser, beside its own. */
  readonly corsOrigins: readonly string[]
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly handlerTimeoutMs: number
  /** How long a stop goes on taking requests, for whoever sends them to find others. */
  readonly shutdownDelayMs: number
  readonly shutdownTimeoutMs: number
  readonly connectionsMax: number
  /** Of one IPv4 address, or one /64 of IPv6; undefined: as many as there may be. */
  readonly connectionsPerAddressMax: number | undefined
  /** Handlers that run at the same time, and look-ups of their callers' keys. */
  readonly workMax: number
  /** Processes that serve. Bounds of connections and of work are the instance's, and shared among them. */
  readonly workers: number
  /** How long a start waits for a database that is not there yet. */
  readonly startTimeoutMs: number
  /** Variables that nothing reads and that are nearly called like one that is read, a sentence each. */
  readonly misspelt: readonly string[]
}

const workersMax = 64
const databaseConnectionsMax = 10_000
// Of a process: one for keys, one that reads, one that writes.
const processConnectionsMin = 3
const processConnections = { alone: 11, ofSeveral: 6 }
// A container that used up its processor is stopped for up to 100 ms at a time, and a Redis with much to save stands still as long while it
// forks. Requests in flight wait so long once in an outage, those after them not at all.
const redisTimeoutMs = 500

type Environment = Readonly<Record<string, string | undefined>>

/** The configuration is unusable; the message has one line per problem. */
export class ConfigError extends OperatorError {
  override name = 'ConfigError'
}

/**
 * Reads and checks the configuration.
 * @throws {ConfigError} naming every wrong variable at once.
 */
export function readConfig(environment: Environment): Config {
  const problems: string[] = []
  const names: string[] = []
  const read = <T>(name: string, fallback: T, parse: (text: string) => T | Problem): T => {
    names.push(name)
    const text = environment[name]?.trim()
    if (text === undefined || text === '') return fallback
    const value = parse(text)
    if (!(value instanceof Problem)) return value
    problems.push(`${name} ${value.message}, but is ${quote(name, text)}`)
    return fallback
  }
  const workers = read('WORKERS', 1, workersOf)
  const connectionsMin = workers * processConnectionsMin
  const config: Config = {
    host: read('HOST', '127.0.0.1', (text) => text),
    port: read('PORT', 3000, integerBetween(0, 65_535)),
    metricsPort: read<number | undefined>('METRICS_PORT', undefined, integerBetween(0, 65_535)),
    databaseUrl: read<string | undefined>('DATABASE_URL', undefined, postgresUrl),
    databaseReadUrl: read<string | undefined>(
      'DATABASE_READ_URL',
      undefined,
      readUrlBeside(environment.DATABASE_URL),
    ),
    databaseConnections: read(
      'DATABASE_CONNECTIONS',
      workers === 1 ? processConnections.alone : workers * processConnections.ofSeveral,
      integerBetween(connectionsMin, databaseConnectionsMax),
    ),
    redisUrl: read<string | undefined>('REDIS_URL', undefined, redisUrl),
    redisTimeoutMs: read('REDIS_TIMEOUT_MS', redisTimeoutMs, integerBetween(20, 60_000)),
    dataDir: read<string | undefined>('DATA_DIR', undefined, (text) => text),
    otlpEndpoint: read<string | undefined>('OTEL_EXPORTER_OTLP_ENDPOINT', undefined, httpUrl),
    logLevel: read('LOG_LEVEL', 'info', oneOf([...Object.keys(pino.levels.values), 'silent'])),
    isAddressLogged: read('LOG_ADDRESS', 'false', oneOf(['true', 'false'])) === 'true',
    trustProxy: read<boolean | string[]>('TRUST_PROXY', false, proxies),
    corsOrigins: read<readonly string[]>('CORS_ORIGINS', [], origins),
    requestTimeoutMs: read('REQUEST_TIMEOUT_MS', 30_000, integerBetween(100, 600_000)),
    keepAliveTimeoutMs: read('KEEP_ALIVE_TIMEOUT_MS', 72_000, integerBetween(100, 3_600_000)),
    handlerTimeoutMs: read('HANDLER_TIMEOUT_MS', 10_000, integerBetween(100, 600_000)),
    shutdownDelayMs: read('SHUTDOWN_DELAY_MS', 0, integerBetween(0, 600_000)),
    shutdownTimeoutMs: read('SHUTDOWN_TIMEOUT_MS', 15_000, integerBetween(100, 600_000)),
    startTimeoutMs: read('START_TIMEOUT_MS', 20_000, integerBetween(0, 600_000)),
    connectionsMax: read('CONNECTIONS_MAX', 10_000, integerBetween(1, 1_000_000)),
    connectionsPerAddressMax: read<number | undefined>(
      'CONNECTIONS_PER_ADDRESS_MAX',
      undefined,
      integerBetween(1, 1_000_000),
    ),
    workMax: read('WORK_MAX', 4_000, integerBetween(1, 1_000_000)),
    workers,
    misspelt: misspelt(Object.keys(environment), names), // after all were read
  }
  if (problems.length > 0) throw new ConfigError([...problems, ...config.misspelt].join('\n'))
  return Object.freeze(config)
}

class Problem {
  constructor(readonly message: string) {}
}

// A URL may hold a password: the message must not repeat it.
function quote(name: string, text: string): string {
  return /_(URL|ENDPOINT)$/.test(name) ? 'something else' : JSON.stringify(text)
}

function integerBetween(min: number, max: number) {
  return (text: string): number | Problem => {
    const value = Number(text)
    return /^\d+$/.test(text) && value >= min && value <= max
      ? value
      : new Problem(`must be a whole number from ${min} to ${max}`)
  }
}

function workersOf(text: string): number | Problem {
  if (text === 'auto') return availableParallelism()
  const count = integerBetween(1, workersMax)(text)
  return count instanceof Problem
    ? new Problem(`must be auto, or a whole number from 1 to ${workersMax}`)
    : count
}

function oneOf(values: readonly string[]) {
  return (text: string): string | Problem =>
    values.includes(text) ? text : new Problem(`must be one of ${values.join(', ')}`)
}

function httpUrl(text: string): string | Problem {
  return /^https?:\/\//.test(text) && URL.canParse(text)
    ? text
    : new Problem('must be the URL of a collector of OTLP over HTTP, such as http://localhost:4318')
}

function postgresUrl(text: string): string | Problem {
  try {
    readPostgresUrl(text)
    return text
  } catch (error) {
    return new Problem((error as Error).message)
  }
}

// Any server will do to read from, and where none of these does, one of DATABASE_URL.
function readUrlBeside(databaseUrl: string | undefined) {
  return (text: string): string | Problem => {
    if (!databaseUrl?.trim()) return new Problem('must be unset where DATABASE_URL is')
    if (/[?&]target_session_attrs=/.test(text))
      return new Problem('must be a URL without target_session_attrs')
    return postgresUrl(text)
  }
}

function redisUrl(text: string): string | Problem {
  return readRedisUrl(text) !== undefined
    ? text
    : new Problem(
        'must be redis://host:6379/0, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379,host:26379/master/0, or one of them with rediss',
      )
}

function proxies(text: string): boolean | string[] | Problem {
  if (text === 'true' || text === 'false') return text === 'true'
  const addresses = text.split(',').map((each) => each.trim())
  return addresses.every(isNetwork)
    ? addresses
    : new Problem(
        'must be true, false, or addresses and networks separated by commas (10.0.0.0/8, loopback, uniquelocal)',
      )
}

// As browsers write them in `Origin` (RFC 6454, section 6.2), or no request would ever match.
function origins(text: string): readonly string[] | Problem {
  const given = text.split(',').map((each) => each.trim())
  return given.every(
    (each) => /^https?:[^*]+$/.test(each) && URL.canParse(each) && new URL(each).origin === each,
  )
    ? given
    : new Problem(
        'must be origins separated by commas, in lower case and without a path or a default port (https://shop.example, http://localhost:5173)',
      )
}

function isNetwork(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  const bitsMax = version === 4 ? 32 : 128
  return (
    version !== 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= bitsMax))
  )
}
