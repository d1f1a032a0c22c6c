// The URL of a PostgreSQL as libpq reads it (PostgreSQL 18, sections 32.1.1.2 and 32.1.1.3): of one server, or of several of which one
// takes writes. JavaScript's `URL` knows one host and one port, and none without a name.

/** Where one of the servers is. */
export interface PostgresHost {
  /** A name, an address, or the folder of a unix socket. Undefined: the URL leaves it to the environment. */
  readonly name: string | undefined
  readonly port: number | undefined
}

/** What a server has to be: one that is no standby, or one that is also not set to only read. */
export type PostgresTarget = 'primary' | 'read-write'

export interface PostgresUrl {
  readonly username: string
  readonly password: string
  /** Empty where the URL leaves it to the environment, as the login. */
  readonly database: string
  /** But for those that say where the server is, which of them, and who asks. */
  readonly parameters: URLSearchParams
  readonly hosts: readonly PostgresHost[]
  readonly target: PostgresTarget
}

const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/i
const portMax = 65_535

/**
 * Reads a URL. A host, a port, a login and a database among its parameters count rather than those before them, and one such port is every host's.
 * @throws {Error} whose message says what it must be, without repeating it
 */
export function readPostgresUrl(text: string): PostgresUrl {
  const [, before = '', authority = '', after = ''] = parts.exec(text) ?? []
  const { username, password, pathname, searchParams } = parse(`${before}host${after}`)
  const take = (name: string) => {
    const value = searchParams.get(name)
    searchParams.delete(name)
    return value
  }
  const addresses = authority.split(',').map((each) => parse(`postgres://${each}/`))
  const names = take('host')?.split(',') ?? addresses.map(({ hostname }) => hostOf(hostname))
  const ports = take('port')?.split(',') ?? addresses.map(({ port }) => port)
  const hosts = pair(names, ports)
  return {
    username: take('user') ?? decode(username),
    password: take('password') ?? decode(password),
    database: take('dbname') ?? decode(pathname.slice(1)),
    parameters: searchParams,
    hosts,
    target: targetOf(take('target_session_attrs') ?? 'any', hosts.length > 1),
  }
}

function pair(names: readonly string[], ports: readonly string[]): PostgresHost[] {
  if (names.length > 1 && names.includes('')) throw new Error('must be a URL that names each of its hosts')
  const each = ports.length === 1 ? names.map(() => ports[0] ?? '') : ports
  // To libpq, a host without a port beside others that have one is at 5432, which hardly anybody means.
  if (each.length !== names.length || (each.includes('') && each.some((port) => port !== '')))
    throw new Error('must be a URL with a port for each of its hosts, or for none')
  return names.map((name, i) => ({ name: name || undefined, port: portOf(each[i] ?? '') }))
}

function portOf(text: string): number | undefined {
  if (text === '') return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port > 0 && port <= portMax) return port
  throw new Error(`must be a URL with ports from 1 to ${portMax}`)
}

// Whoever writes has no use for a server that reads. Of several, the old primary may have been set to only read.
function targetOf(attributes: string, areSeveral: boolean): PostgresTarget {
  if (attributes === 'any') return areSeveral ? 'read-write' : 'primary'
  if (attributes === 'primary' || attributes === 'read-write') return attributes
  throw new Error('must be a URL whose target_session_attrs is any, primary or read-write')
}

function hostOf(hostname: string): string {
  return decode(hostname.replace(/^\[|\]$/g, '')) // an IPv6 address has brackets there
}

function parse(text: string): URL {
  if (URL.canParse(text)) return new URL(text)
  throw invalid()
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid()
  }
}

function invalid(): Error {
  return new Error('must be a valid URL that begins with postgres:// or postgresql://')
}
