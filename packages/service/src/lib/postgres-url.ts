// PostgreSQL URLs as in libpq (PostgreSQL 18, sections 32.1.1.2 and 32.1.1.3), with one or several servers.
// JavaScript's `URL` allows one host and one port, and no empty host.

export interface PostgresHost {
  /** A name, an address, or the directory of a unix socket. Undefined: from the environment (PGHOST). */
  readonly name: string | undefined
  readonly port: number | undefined
  /** Where to connect, without a look-up of the name. Undefined: the name says. */
  readonly address: string | undefined
}

/** The server to use: not a standby; with `read-write`, also not read-only. */
export type PostgresTarget = 'primary' | 'read-write'

export interface PostgresUrl {
  readonly username: string
  readonly password: string
  /** A file of passwords, for a URL without one. */
  readonly passfile: string | undefined
  /** Empty, like the user and the password, if it comes from the environment. */
  readonly database: string
  /** The parameters except those that became the other fields. */
  readonly parameters: URLSearchParams
  /** The names of libpq's parameters that are left out, because they have no effect here. */
  readonly ignored: readonly string[]
  readonly hosts: readonly PostgresHost[]
  readonly target: PostgresTarget
}

// Parameters for libpq itself that the driver cannot honour, or, as `connect_timeout` and `client_encoding`,
// decides. PostgreSQL, which gets all others as settings, would refuse the connection.
const libpqAlone = new Set(
  `channel_binding client_encoding connect_timeout gssdelegation gssencmode gsslib keepalives_count
  keepalives_interval krbsrvname load_balance_hosts max_protocol_version min_protocol_version oauth_client_id
  oauth_client_secret oauth_issuer oauth_scope replication require_auth requirepeer scram_client_key
  scram_server_key service servicefile sslcertmode sslcompression sslcrldir sslkeylogfile sslsni
  tcp_user_timeout`.split(/\s+/),
)

const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/i
const portMax = 65_535

/**
 * Parses a URL. The parameters host, port, user, password and dbname override the part before them; a single
 * port applies to every host. Other parameters of libpq become the driver's, or are ignored.
 * @throws {Error} with a message such as `must be a valid URL …`, which does not contain the URL
 */
export function readPostgresUrl(text: string): PostgresUrl {
  const [, before = '', authority = '', after = ''] = parts.exec(text) ?? []
  // They are of a password, which would be taken for a host, a port and a database, and those are logged.
  if (/[@#]/.test(after)) throw unencoded()
  const { username, password, pathname, searchParams: parameters } = parse(`${before}host${after}`)
  const places = authority.split(',').map((each) => parse(`postgres://${each}/`))
  const addresses = take(parameters, 'hostaddr')?.split(',')
  const listed = places.map(({ hostname }) => hostOf(hostname))
  const names = take(parameters, 'host')?.split(',') ?? ((authority === '' && addresses) || listed)
  const ports = take(parameters, 'port')?.split(',') ?? places.map(({ port }) => port)
  const hosts = pair(names, ports, addresses ?? names.map(() => ''))
  translate(parameters)
  const ignored = [...new Set(parameters.keys())].filter((name) => libpqAlone.has(name))
  for (const name of ignored) parameters.delete(name)
  return {
    username: take(parameters, 'user') ?? decode(username),
    password: take(parameters, 'password') ?? decode(password),
    passfile: take(parameters, 'passfile') ?? undefined,
    database: take(parameters, 'dbname') ?? decode(pathname.slice(1)),
    parameters,
    ignored,
    hosts,
    target: targetOf(take(parameters, 'target_session_attrs') ?? 'any', hosts.length > 1),
  }
}

function take(parameters: URLSearchParams, name: string): string | null {
  const value = parameters.get(name)
  parameters.delete(name)
  return value
}

// The default of postgres.js.
const keepAliveSeconds = 60

// Makes parameters of libpq those that postgres.js reads.
function translate(parameters: URLSearchParams): void {
  const setDefault = (name: string, value: string | null | false) => {
    if (value && !parameters.has(name)) parameters.set(name, value)
  }
  setDefault('application_name', take(parameters, 'fallback_application_name'))
  const idleSeconds = take(parameters, 'keepalives_idle')
  const isKept = take(parameters, 'keepalives') !== '0'
  // Always set: postgres.js would read PGKEEP_ALIVE from the environment.
  setDefault('keep_alive', isKept ? String(Number(idleSeconds) || keepAliveSeconds) : 'false')
  const isTls = take(parameters, 'requiressl') === '1' || parameters.get('ssl') === 'true'
  if (isTls) take(parameters, 'ssl')
  setDefault('sslmode', isTls && 'require')
}

function pair(
  names: readonly string[],
  ports: readonly string[],
  addresses: readonly string[],
): PostgresHost[] {
  if (addresses.length !== names.length)
    throw new Error('must be a URL with a hostaddr for each of its hosts, or for none')
  if (names.length > 1 && names.includes('')) throw new Error('must be a URL that names each of its hosts')
  const each = ports.length === 1 ? names.map(() => ports[0] ?? '') : ports
  // libpq uses 5432 for a host without a port next to others with one; that is rarely intended.
  if (each.length !== names.length || (each.includes('') && each.some((port) => port !== '')))
    throw new Error('must be a URL with a port for each of its hosts, or for none')
  return names.map((name, i) => ({
    name: name || addresses[i] || undefined,
    port: portOf(each[i] ?? ''),
    address: addresses[i] || undefined,
  }))
}

function portOf(text: string): number | undefined {
  if (text === '') return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port > 0 && port <= portMax) return port
  throw new Error(`must be a URL with ports from 1 to ${portMax}`)
}

// `any` becomes `primary`, because the service writes. Of several servers, an old primary may be read-only.
function targetOf(attributes: string, areSeveral: boolean): PostgresTarget {
  if (attributes === 'any') return areSeveral ? 'read-write' : 'primary'
  if (attributes === 'primary' || attributes === 'read-write') return attributes
  throw new Error('must be a URL whose target_session_attrs is any, primary or read-write')
}

function hostOf(hostname: string): string {
  return decode(hostname.replace(/^\[|\]$/g, '')) // an IPv6 address is in brackets
}

function parse(text: string): URL {
  if (URL.canParse(text)) return new URL(text)
  throw invalid()
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw unencoded()
  }
}

function unencoded(): Error {
  return new Error(
    'must be a URL with @ # / ? % encoded (@ as %40), or without its password, which PGPASSWORD can hold',
  )
}

function invalid(): Error {
  return new Error('must be a valid URL that begins with postgres:// or postgresql://')
}
