// TLS to PostgreSQL by libpq's URL parameters (PostgreSQL 18, section 32.19). postgres.js 3.4.9 differs from libpq: it reads no
// certificate files, verifies the host name under `verify-ca`, too, and compares the certificate of an IP address with `localhost`.

import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { OperatorError } from '../operator-error.js'

const files = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/** The TLS options of postgres.js for a host; none where postgres.js reads `sslmode` in the URL itself. */
export type TlsOf = (host: string) => { readonly ssl?: tls.ConnectionOptions | false }

/**
 * Reads `sslmode`, `sslrootcert`, `sslcert` and `sslkey`, and removes or changes those that postgres.js would misread. As in libpq, a
 * root certificate makes `require` verify the certificate's authority.
 * @param variable the environment variable with the URL, for errors
 * @throws {OperatorError} when the mode is unknown or a file cannot be read
 */
export function readTls(parameters: URLSearchParams, variable: string): TlsOf {
  const authority = parameters.get('sslrootcert')
  const mode = parameters.get('sslmode') ?? (authority === 'system' ? 'verify-full' : 'require')
  if (!modes.includes(mode))
    throw new OperatorError(`${variable}: sslmode must be one of ${modes.join(', ')}, not ${mode}`)
  // postgres.js requires TLS for `allow`, where libpq also connects without.
  if (mode === 'allow') parameters.set('sslmode', 'prefer')
  const named = Object.entries(files).flatMap(([name, option]) => {
    const file = parameters.get(name)
    parameters.delete(name)
    return file === null ? [] : [{ name, option, file }]
  })
  const isForNode = mode !== 'disable' && (named.length > 0 || mode.startsWith('verify-'))
  // Without it postgres.js reads PGSSL from the environment.
  if (!parameters.has('sslmode') && !parameters.has('ssl') && !isForNode) return () => ({ ssl: false })
  if (!isForNode) return () => ({})
  parameters.delete('sslmode')
  const contents = named
    .filter(({ file }) => file !== 'system') // Node's own root certificates
    .map(({ name, option, file }) => [option, readCertificate(file, `${variable}: ${name}`)])
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

function readCertificate(file: string, parameter: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`${parameter} cannot be read: ${(error as Error).message}`)
  }
}
