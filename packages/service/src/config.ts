// Reads the configuration from environment variables; no other file does. It has the operator's choices. The
// promises of the API to its clients are in the contract.

import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isIP } from 'node:net'
import { readBaseUrl } from 'contract-engine/lib/base-url'
import { misspelt } from 'contract-engine/lib/misspelt'
import { pino } from 'pino'
import { readIssuerUrl } from './lib/issuer-url.js'
import { OperatorError } from './lib/operator-error.js'
import { readPostgresUrl } from './lib/postgres-url.js'
import { readRedisUrl } from './lib/redis-url.js'

/** Files of the connection to an OpenTelemetry collector, by Node's option. */
export interface OtlpFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** The configuration. Durations are in milliseconds. */
export interface Config {
  readonly host: string
  readonly port: number
  /** True if other instances may listen on the port as well. */
  readonly reusePort: boolean
  /** The port of `/metrics`. Undefined turns metrics off. */
  readonly metricsPort: number | undefined
  /** The URL at which clients reach the operations. If undefined, it follows from each request. */
  readonly publicUrl: string | undefined
  /** If undefined, the service runs the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined
  /** The standbys that `GET` requests read from. If undefined, they read from `databaseUrl`. */
  readonly databaseReadUrl: string | undefined
  /** The `DATABASE_URL` of the service, with a user. `migrate` creates that role. */
  readonly serviceDatabaseUrl: string | undefined
  /** The role's password if `serviceDatabaseUrl` has none, otherwise empty. */
  readonly servicePassword: string
  /** The number of database connections for requests. */
  readonly databaseConnections: number
  /** If undefined, requests are counted in memory. */
  readonly redisUrl: string | undefined
  /** Redis counts as unavailable if it sends nothing for this long while a reply is due. */
  readonly redisTimeoutMs: number
  /**
   * The data directory of the embedded PostgreSQL. For the default, see
   * `database/embedded/data-directory.ts`.
   */
  readonly dataDir: string | undefined
  /**
   * The OTLP endpoint for spans. Undefined turns tracing off. OpenTelemetry itself reads its other variables.
   */
  readonly otlpEndpoint: string | undefined
  readonly otlpFiles: OtlpFiles
  /**
   * The issuer and the audience of the tokens that `jwt()` accepts, unless its options say them.
   */
  readonly oidcIssuer: string | undefined
  readonly oidcAudience: string | undefined
  readonly logLevel: string
  /** True if the log contains client addresses. */
  readonly isAddressLogged: boolean
  /** The proxies whose `X-Forwarded-*` are trusted: Fastify's `trustProxy`. */
  readonly trustProxy: boolean | string[]
  /** Origins that may call the service from a browser. */
  readonly corsOrigins: readonly string[]
  /** True if a page of any origin may send a request that is not safe with a cookie that is a credential. */
  readonly takesForeignCookies: boolean
  /** The URIs for reports of vulnerabilities. */
  readonly securityContacts: readonly string[]
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly handlerTimeoutMs: number
  /** How long a shutdown still accepts requests, until load balancers have noticed it. */
  readonly shutdownDelayMs: number
  readonly shutdownTimeoutMs: number
  readonly connectionsMax: number
  /** The limit per IPv4 address or IPv6 /64. Undefined means no limit. */
  readonly connectionsPerAddressMax: number | undefined
  /** The limit of running handlers and look-ups of known API keys; also that of look-ups of unknown ones. */
  readonly workMax: number
  /** The limit of streams in flight. */
  readonly streamsMax: number
  /** The limit of bytes that all bodies in flight hold. If undefined, it follows from the contract. */
  readonly bodiesMaxBytes: number | undefined
  /** The minimum rate of a body that streams, in bytes per second. */
  readonly uploadRateMin: number
  /** How long startup waits for an unavailable database. */
  readonly startTimeoutMs: number
  /** A warning for each variable whose name is nearly that of a known one. */
  readonly misspelt: readonly string[]
  /** A warning for each variable of an earlier release that has no effect. */
  readonly ignored: readonly string[]
}

// Variables for parts that URLs leave out: libpq's, which postgres.js reads, and one of `migrate`.
const urlParts = ['PGHOST', 'PGPORT', 'PGUSER', 'PGPASSWORD', 'PGDATABASE', 'SERVICE_PASSWORD']
const databaseConnectionsMax = 10_000
// One for API keys, one for reads, one for writes.
const databaseConnectionsMin = 3
// The variables of earlier releases, and what replaces them.
const removed: readonly (readonly [name: string, instead: string])[] = [
  ['WORKERS', 'one process serves; for several cores, run several instances that share one REDIS_URL'],
]

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads and validates the configuration.
 * @throws {OperatorError} with a line for each invalid variable
 */
export function readConfig(environment: Environment): Config {
  const { problems, names, ...reader } = createReader(environment)
  // postgres.js reads this variable, and throws for a value of libpq's that it does not know.
  if (environment.PGTARGETSESSIONATTRS)
    problems.push('PGTARGETSESSIONATTRS must be unset: set target_session_attrs in DATABASE_URL')
  for (const [name, parse] of openTelemetryVariables) reader.optional<unknown>(name, parse)
  const variables = readVariables(environment, reader)
  const known = [...names, ...urlParts, ...removed.map(([name]) => name)]
  const warnings = misspelt(Object.keys(environment), known)
  if (problems.length > 0) throw new OperatorError([...problems, ...warnings].join('\n'))
  return Object.freeze({ ...variables, misspelt: warnings, ignored: ignoredIn(environment) })
}

function ignoredIn(environment: Environment): string[] {
  return removed
    .filter(([name]) => environment[name]?.trim())
    .map(([name, instead]) => `${name} is ignored: ${instead}`)
}

// Reads variables by name, and collects the names and the problems of the values.
function createReader(environment: Environment) {
  const problems: string[] = []
  const names: string[] = []
  const read = <T>(name: string, fallback: T, parse: (text: string) => T | Misconfiguration): T => {
    names.push(name)
    const text = environment[name]?.trim()
    if (text === undefined || text === '') return fallback
    const value = parse(text)
    if (!(value instanceof Misconfiguration)) return value
    // A URL may contain a password, and a header a key.
    const isSecret = /_(URL|ENDPOINT|HEADERS|ISSUER)$/.test(name)
    problems.push(`${name} ${value.message}${isSecret ? '' : `, got ${JSON.stringify(text)}`}`)
    return fallback
  }
  const optional = <T>(name: string, parse: (text: string) => T | Misconfiguration) =>
    read<T | undefined>(name, undefined, parse)
  return { read, optional, problems, names }
}

type Reader = Pick<ReturnType<typeof createReader>, 'read' | 'optional'>

// Long, because it is a table: each variable with its default and its allowed values.
function readVariables(
  environment: Environment,
  { read, optional }: Reader,
): Omit<Config, 'misspelt' | 'ignored'> {
  return {
    host: read('HOST', '127.0.0.1', (text) => text),
    port: read('PORT', 3000, integerBetween(0, 65_535)),
    reusePort: read('REUSE_PORT', false, flag),
    metricsPort: optional('METRICS_PORT', integerBetween(0, 65_535)),
    publicUrl: optional('PUBLIC_URL', publicUrl),
    databaseUrl: optional('DATABASE_URL', postgresUrl),
    databaseReadUrl: optional('DATABASE_READ_URL', readUrlFor(environment.DATABASE_URL)),
    serviceDatabaseUrl: optional('SERVICE_DATABASE_URL', loginUrlWith(environment.SERVICE_PASSWORD)),
    servicePassword: environment.SERVICE_PASSWORD ?? '', // with its spaces
    databaseConnections: read(
      'DATABASE_CONNECTIONS',
      11,
      integerBetween(databaseConnectionsMin, databaseConnectionsMax),
    ),
    redisUrl: optional('REDIS_URL', redisUrl),
    // CPU throttling can stop a container for 100 ms, and a fork can stop a large Redis as long. In an outage
    // only the requests in flight wait for this timeout.
    redisTimeoutMs: read('REDIS_TIMEOUT_MS', 500, integerBetween(20, 60_000)),
    dataDir: optional('DATA_DIR', (text) => text),
    otlpEndpoint: unlessTracingIsOff(environment, optional('OTEL_EXPORTER_OTLP_ENDPOINT', httpUrl)),
    otlpFiles: otlpFiles(environment),
    oidcIssuer: optional('OIDC_ISSUER', issuerUrl),
    oidcAudience: optional('OIDC_AUDIENCE', (text) => text),
    logLevel: read('LOG_LEVEL', 'info', oneOf([...Object.keys(pino.levels.values), 'silent'])),
    isAddressLogged: read('LOG_ADDRESS', false, flag),
    trustProxy: read<boolean | string[]>('TRUST_PROXY', false, proxies),
    corsOrigins: read<readonly string[]>('CORS_ORIGINS', [], origins),
    takesForeignCookies: read('CROSS_SITE_COOKIES', false, flag),
    securityContacts: read<readonly string[]>('SECURITY_CONTACT', [], contacts),
    requestTimeoutMs: read('REQUEST_TIMEOUT_MS', 30_000, integerBetween(100, 600_000)),
    keepAliveTimeoutMs: read('KEEP_ALIVE_TIMEOUT_MS', 72_000, integerBetween(100, 3_600_000)),
    handlerTimeoutMs: read('HANDLER_TIMEOUT_MS', 10_000, integerBetween(100, 600_000)),
    shutdownDelayMs: read('SHUTDOWN_DELAY_MS', 0, integerBetween(0, 600_000)),
    shutdownTimeoutMs: read('SHUTDOWN_TIMEOUT_MS', 15_000, integerBetween(100, 600_000)),
    startTimeoutMs: read('START_TIMEOUT_MS', 20_000, integerBetween(0, 600_000)),
    connectionsMax: read('CONNECTIONS_MAX', 10_000, integerBetween(1, 1_000_000)),
    connectionsPerAddressMax: optional('CONNECTIONS_PER_ADDRESS_MAX', integerBetween(1, 1_000_000)),
    workMax: read('WORK_MAX', 4_000, integerBetween(1, 1_000_000)),
    streamsMax: read('STREAMS_MAX', 4_000, integerBetween(1, 1_000_000)),
    bodiesMaxBytes: optional('BODIES_MAX_BYTES', integerBetween(1_048_576, 1_099_511_627_776)),
    uploadRateMin: read('UPLOAD_RATE_MIN', 1_000, integerBetween(0, 1_000_000_000)),
  }
}

class Misconfiguration {
  constructor(readonly message: string) {}
}

function integerBetween(min: number, max: number) {
  return (text: string): number | Misconfiguration => {
    const value = Number(text)
    return /^\d+$/.test(text) && value >= min && value <= max
      ? value
      : new Misconfiguration(`must be an integer from ${min} to ${max}`)
  }
}

function oneOf(values: readonly string[]) {
  return (text: string): string | Misconfiguration =>
    values.includes(text) ? text : new Misconfiguration(`must be one of ${values.join(', ')}`)
}

function flag(text: string): boolean | Misconfiguration {
  const value = oneOf(['true', '1', 'false', '0'])(text)
  return value instanceof Misconfiguration ? value : value === 'true' || value === '1'
}

// Refuses an @ or # behind the host: it belongs to a password, whose rest would be taken for a host, and
// logged.
function httpUrl(text: string): string | Misconfiguration {
  return /^https?:\/\/[^/?#]+[^@#]*$/.test(text) && URL.canParse(text)
    ? text
    : new Misconfiguration(
        'must be the http or https URL of an OTLP collector, such as http://localhost:4318',
      )
}

// Variables for which OpenTelemetry neither reports nor honours a wrong value: exports would fail, or never
// end with batches of 0 spans. For its other variables, it reports wrong values and uses the defaults.
const openTelemetryVariables: readonly [name: string, parse: (text: string) => unknown][] = [
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', httpUrl],
  ['OTEL_EXPORTER_OTLP_HEADERS', otlpHeaders],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', otlpHeaders],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', integerBetween(1, 1_000_000)],
  ['OTEL_BSP_MAX_QUEUE_SIZE', integerBetween(1, 1_000_000)],
  ['OTEL_BSP_EXPORT_TIMEOUT', integerBetween(1, 3_600_000)],
  ['OTEL_SDK_DISABLED', (text) => oneOf(['true', 'false'])(text.toLowerCase())],
  ['OTEL_TRACES_EXPORTER', oneOf(['otlp', 'none'])],
]

function unlessTracingIsOff(environment: Environment, endpoint: string | undefined): string | undefined {
  const isOff = environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true'
  return isOff || environment.OTEL_TRACES_EXPORTER?.trim() === 'none' ? undefined : endpoint
}

// OpenTelemetry also reads these files, but only once.
function otlpFiles(environment: Environment): OtlpFiles {
  const variables = { ca: 'CERTIFICATE', cert: 'CLIENT_CERTIFICATE', key: 'CLIENT_KEY' }
  const read = (name: string) =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`]?.trim() ||
    environment[`OTEL_EXPORTER_OTLP_${name}`]?.trim()
  const files = Object.entries(variables).map(([option, name]) => [option, read(name)] as const)
  return Object.fromEntries(files.filter(([, file]) => file))
}

// Checks the form of W3C Baggage, section 3.3.1, which OpenTelemetry reads.
function otlpHeaders(text: string): string | Misconfiguration {
  try {
    for (const pair of text.split(',').filter((each) => each.trim() !== '')) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(pair.trim()) ?? []
      validateHeaderName(decodeURIComponent(name.trim()))
      validateHeaderValue(name, decodeURIComponent(value.trim()))
    }
    return text
  } catch {
    return new Misconfiguration('must be HTTP headers, such as api-key=secret,x-tenant=shop, percent-encoded')
  }
}

function publicUrl(text: string): string | Misconfiguration {
  return (
    readBaseUrl(text) ??
    new Misconfiguration('must be an http or https URL without a query, such as https://store.example/v1')
  )
}

// Returns the text unchanged, because tokens must name the issuer exactly, including a slash at its end.
function issuerUrl(text: string): string | Misconfiguration {
  return readIssuerUrl(text) !== undefined
    ? text
    : new Misconfiguration(
        'must be the https URL of an OpenID issuer without a query, such as https://login.example/store ' +
          '(http only on this machine)',
      )
}

function postgresUrl(text: string): string | Misconfiguration {
  try {
    readPostgresUrl(text)
    return text
  } catch (error) {
    return new Misconfiguration((error as Error).message)
  }
}

function loginUrlWith(servicePassword: string | undefined) {
  return (text: string): string | Misconfiguration => {
    const url = postgresUrl(text)
    if (url instanceof Misconfiguration) return url
    const { username, password, parameters } = readPostgresUrl(url)
    return username && (password || servicePassword || parameters.has('sslcert'))
      ? url
      : new Misconfiguration(
          'must have a user, and a password, which SERVICE_PASSWORD can hold, or an sslcert',
        )
  }
}

// Any server can serve reads. The servers of DATABASE_URL stand in if no standby does.
function readUrlFor(databaseUrl: string | undefined) {
  return (text: string): string | Misconfiguration => {
    if (!databaseUrl?.trim()) return new Misconfiguration('requires DATABASE_URL')
    if (/[?&]target_session_attrs=/.test(text))
      return new Misconfiguration('must not contain target_session_attrs')
    return postgresUrl(text)
  }
}

function redisUrl(text: string): string | Misconfiguration {
  return readRedisUrl(text) !== undefined
    ? text
    : new Misconfiguration(
        'must be redis://host:6379/0, redis+cluster://host:6379,host:6379 or ' +
          'redis+sentinel://host:26379,host:26379/master/0 (rediss for TLS)',
      )
}

function proxies(text: string): boolean | string[] | Misconfiguration {
  if (text === 'true' || text === 'false') return text === 'true'
  const addresses = text.split(',').map((each) => each.trim())
  return addresses.every(isNetwork)
    ? addresses
    : new Misconfiguration(
        'must be true, false, or comma-separated addresses and networks, such as 10.0.0.0/8,loopback',
      )
}

// Demands the form in which browsers send `Origin` (RFC 6454, section 6.2). Any other would match no request.
function origins(text: string): readonly string[] | Misconfiguration {
  const given = text.split(',').map((each) => each.trim())
  return given.every(
    (each) => /^https?:[^*]+$/.test(each) && URL.canParse(each) && new URL(each).origin === each,
  )
    ? given
    : new Misconfiguration(
        'must be comma-separated origins in lower case, without a path or a default port, ' +
          'such as https://shop.example,http://localhost:5173',
      )
}

// RFC 9116, section 2.5.3: pages must use https.
function contacts(text: string): readonly string[] | Misconfiguration {
  const uris = text.split(',').map((each) => each.trim())
  return uris.every((each) => /^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/.test(each) && URL.canParse(each))
    ? uris
    : new Misconfiguration(
        'must be comma-separated mailto: and https: URIs, such as ' +
          'mailto:security@store.example,https://store.example/security',
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
