// PostgreSQL URLs as in libpq (PostgreSQL 18, sections 32.1.1.2 and 32.1.1.3), with one or several servers. JavaScript's `URL` allows one
// host and one port, and no empty host.

export interface PostgresHost {
  /** A name, an address, or the directory of a unix socket. Undefined: from the environment (PGHOST). */
  readonly name: string | undefined
  readonly port: number | undefined
}

/** The server to use: not a standby; with `read-write`, also not read-only. */
export type PostgresTarget = 'primary' | 'read-write'

export interface PostgresUrl {
  readonly username: string
  readonly password: string
  /** Empty, like the user and the password, if it comes from the environment. */
  readonly database: string
  /** The parameters except those that became the other fields. */
  readonly parameters: URLSearchParams
  readonly hosts: readonly PostgresHost[]
  readonly target: PostgresTarget
}

const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/i
const portMax = 65_535

/**
 * Parses a URL. The parameters host, port, user, password and dbname override the part before them; a single port applies to every host.
 * @throws {Error} with a message such as `must be a valid URL …`, which does not contain the URL
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
  // libpq uses 5432 for a host without a port next to others with one; that is rarely intended.
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

// `any` becomes `primary`, because the service writes. With several servers, an old primary may have been made read-only.
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
    throw invalid()
  }
}

function invalid(): Error {
  return new Error('must be a valid URL that begins with postgres:// or postgresql://')
}
