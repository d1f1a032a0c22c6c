// TLS to PostgreSQL as libpq's parameters in a URL mean it (PostgreSQL 18, section 32.19), where postgres.js 3.4.9 means something else: it
// reads no certificates, verifies the host for `verify-ca`, too, and holds the certificate of an address against `localhost`.

import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { OperatorError } from '../operator-error.js'

/** For postgres.js: a URL, and what it is not to read there. */
export interface Place {
  readonly url: string
  readonly tls: { readonly ssl?: tls.ConnectionOptions }
}

const files = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const

/**
 * Reads what a URL says of TLS: `sslmode`, and the files `sslrootcert`, `sslcert` and `sslkey`. As to libpq, a certificate authority that is
 * given counts also where the mode asks for no verification.
 * @throws {OperatorError} when a file cannot be read
 */
export function readPlace(databaseUrl: string): Place {
  const url = new URL(databaseUrl)
  const { searchParams, hostname } = url
  const authority = searchParams.get('sslrootcert')
  const mode = searchParams.get('sslmode') ?? (authority === 'system' ? 'verify-full' : 'require')
  const named = Object.entries(files).flatMap(([name, option]) => {
    const file = searchParams.get(name)
    searchParams.delete(name)
    return file === null ? [] : [{ name, option, file }]
  })
  const isForNode = mode !== 'disable' && (named.length > 0 || mode.startsWith('verify-'))
  if (!isForNode) return { url: named.length > 0 ? url.href : databaseUrl, tls: {} }
  searchParams.delete('sslmode')
  const contents = named
    .filter(({ file }) => file !== 'system') // those that Node knows
    .map(({ name, option, file }) => [option, readCertificate(name, file)])
  const ssl = { ...Object.fromEntries(contents), ...verification(mode, authority, hostname) }
  return { url: url.href, tls: { ssl } }
}

function verification(mode: string, authority: string | null, hosts: string): tls.ConnectionOptions {
  if (mode === 'verify-full')
    return { checkServerIdentity: (_, certificate) => checkHosts(hosts, certificate) }
  return mode === 'verify-ca' || authority !== null
    ? { checkServerIdentity: () => undefined }
    : { rejectUnauthorized: false }
}

// Of several hosts, whichever answers is one of them.
function checkHosts(hosts: string, certificate: tls.PeerCertificate): Error | undefined {
  const problems = hosts
    .split(',')
    .map((host) => tls.checkServerIdentity(host.replace(/^\[|\]$/g, ''), certificate))
  return problems.includes(undefined) ? undefined : problems[0]
}

function readCertificate(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`DATABASE_URL: its ${name} cannot be read: ${(error as Error).message}`)
  }
}
