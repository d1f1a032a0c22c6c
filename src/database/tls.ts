// TLS to PostgreSQL by libpq's URL parameters (PostgreSQL 18, section 32.19). postgres.js 3.4.9 reads no
// certificate files, verifies the host name under `verify-ca`, and compares an address's certificate with
// `localhost`.

import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { OperatorError } from '../lib/operator-error.js'

const files = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key', sslcrl: 'crl' } as const
const texts = {
  sslpassword: 'passphrase',
  ssl_min_protocol_version: 'minVersion',
  ssl_max_protocol_version: 'maxVersion',
} as const

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/** The TLS options of postgres.js for a host; none where postgres.js reads `sslmode` in the URL itself. */
export type TlsOf = (host: string) => { readonly ssl?: tls.ConnectionOptions | false }

/**
 * Reads `sslmode`, the `files` and the `texts`, and removes or changes those that postgres.js would misread.
 * As in libpq, a root certificate makes `require` verify the certificate's authority.
 * @param variable the environment variable with the URL, for errors
 * @throws {OperatorError} when the mode is unknown, a file cannot be read, or a value is not valid
 */
export function readTls(parameters: URLSearchParams, variable: string): TlsOf {
  const authority = parameters.get('sslrootcert')
  const mode = parameters.get('sslmode') ?? (authority === 'system' ? 'verify-full' : 'require')
  if (!modes.includes(mode))
    throw new OperatorError(`${variable}: sslmode must be one of ${modes.join(', ')}, not ${mode}`)
  // postgres.js requires TLS for `allow`, where libpq also connects without.
  if (mode === 'allow') parameters.set('sslmode', 'prefer')
  const take = (options: object) =>
    Object.entries(options).flatMap(([name, option]: [string, string]) => {
      const value = parameters.get(name)
      parameters.delete(name)
      return value === null ? [] : [{ name, option, value }]
    })
  const [named, further] = [take(files), take(texts)]
  const isRequired = named.length > 0 || (further.length > 0 && parameters.get('sslmode') === 'require')
  const isForNode = mode !== 'disable' && (isRequired || mode.startsWith('verify-'))
  // Without it postgres.js reads PGSSL from the environment.
  if (!parameters.has('sslmode') && !parameters.has('ssl') && !isForNode) return () => ({ ssl: false })
  if (!isForNode) return () => ({})
  parameters.delete('sslmode')
  const contents = named
    .filter(({ value }) => value !== 'system') // Node's own root certificates
    .map(({ name, option, value }) => [option, readCertificate(value, `${variable}: ${name}`)])
  const common = Object.fromEntries([...contents, ...further.map(({ option, value }) => [option, value])])
  checkValid(common, variable)
  return (host) => ({ ssl: { ...common, ...verification(mode, authority, host) } })
}

function verification(mode: string, authority: string | null, host: string): tls.ConnectionOptions {
  if (mode === 'verify-full')
    return { checkServerIdentity: (_, certificate) => tls.checkServerIdentity(host, certificate) }
  return mode === 'verify-ca' || authority !== null
    ? { checkServerIdentity: () => undefined }
    : { rejectUnauthorized: false }
}

// postgres.js would throw the error where nothing catches it.
function checkValid(options: tls.SecureContextOptions, variable: string): void {
  try {
    tls.createSecureContext(options)
  } catch (error) {
    throw new OperatorError(`${variable}: TLS cannot be used: ${(error as Error).message}`)
  }
}

function readCertificate(file: string, parameter: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`${parameter} cannot be read: ${(error as Error).message}`)
  }
}
