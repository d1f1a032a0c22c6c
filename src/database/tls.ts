// TLS to PostgreSQL as libpq's parameters in a URL mean it (PostgreSQL 18, section 32.19), where postgres.js 3.4.9 means something else: it
// reads no certificates, verifies the host for `verify-ca`, too, and holds the certificate of an address against `localhost`.

import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { OperatorError } from '../operator-error.js'

const files = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/** Of postgres.js's options for a host, those of TLS; none where it reads them in the URL itself. */
export type TlsOf = (host: string) => { readonly ssl?: tls.ConnectionOptions }

/**
 * Reads what a URL's parameters say of TLS: `sslmode`, and the files `sslrootcert`, `sslcert` and `sslkey`, and takes away what
 * postgres.js is not to read there. As to libpq, a certificate authority that is given counts also where the mode asks for no verification.
 * @throws {OperatorError} when a file cannot be read, or there is no such mode
 */
export function readTls(parameters: URLSearchParams): TlsOf {
  const authority = parameters.get('sslrootcert')
  const mode = parameters.get('sslmode') ?? (authority === 'system' ? 'verify-full' : 'require')
  if (!modes.includes(mode))
    throw new OperatorError(`DATABASE_URL: its sslmode ${mode} is none of ${modes.join(', ')}`)
  // To postgres.js, `allow` asks for TLS, where either will do.
  if (mode === 'allow') parameters.set('sslmode', 'prefer')
  const named = Object.entries(files).flatMap(([name, option]) => {
    const file = parameters.get(name)
    parameters.delete(name)
    return file === null ? [] : [{ name, option, file }]
  })
  const isForNode = mode !== 'disable' && (named.length > 0 || mode.startsWith('verify-'))
  if (!isForNode) return () => ({})
  parameters.delete('sslmode')
  const contents = named
    .filter(({ file }) => file !== 'system') // those that Node knows
    .map(({ name, option, file }) => [option, readCertificate(name, file)])
  const common = Object.fromEntries(contents)
  return (host) => ({ ssl: { ...common, ...verification(mode, authority, host) } })
}

function verification(mode: string, authority: string | null, host: string): tls.ConnectionOptions {
  if (mode === 'verify-full')
    return { checkServerIdentity: (_, certificate) => tls.checkServerIdentity(host, certificate) }
  return mode === 'verify-ca' || authority !== null
    ? { checkServerIdentity: () => undefined }
    : { rejectUnauthorized: false }
}

function readCertificate(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`DATABASE_URL: its ${name} cannot be read: ${(error as Error).message}`)
  }
}
