// TLS to PostgreSQL by libpq's URL parameters (PostgreSQL 18, section 32.19). Without this file, postgres.js
// 3.4.9 would read no certificate files, verify the host name under `verify-ca`, and compare the certificate
// of an address with `localhost`.

import { X509Certificate } from 'node:crypto'
import tls from 'node:tls'
import { type CertificateLife, lifeOf, shortestLife } from '../lib/certificate-life.js'
import { OperatorError } from '../lib/operator-error.js'
import { type FromFiles, readNamed } from './from-files.js'
import { codeOf } from './unavailable.js'

const files = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key', sslcrl: 'crl' } as const
const texts = {
  sslpassword: 'passphrase',
  ssl_min_protocol_version: 'minVersion',
  ssl_max_protocol_version: 'maxVersion',
} as const

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/** The TLS options of postgres.js for a host. Empty where postgres.js itself reads `sslmode` in the URL. */
export type TlsOf = (host: string) => { readonly ssl?: ServerTls | false }

/** A file that a parameter of the URL names, for an option of Node's TLS. */
interface NamedFile {
  readonly name: string
  readonly option: (typeof files)[keyof typeof files]
  readonly value: string
}

/**
 * Reads `sslmode`, the `files` and the `texts`, and removes or changes parameters that postgres.js would
 * misread. Reads the files now, so that the startup fails, and again before each connection, because
 * certificates are renewed and revocation lists expire. As in libpq, `require` with a root certificate also
 * verifies the authority of the server's certificate.
 * @param variable the environment variable with the URL, for errors
 * @throws {OperatorError} if the mode is unknown, a file cannot be read, or a value is invalid
 */
export function readTls(parameters: URLSearchParams, variable: string): TlsOf {
  const authority = parameters.get('sslrootcert')
  const mode = parameters.get('sslmode') ?? (authority === 'system' ? 'verify-full' : 'require')
  if (!modes.includes(mode))
    throw new OperatorError(`${variable}: sslmode must be one of ${modes.join(', ')}, not ${mode}`)
  // For `allow`, postgres.js requires TLS; libpq also connects without.
  if (mode === 'allow') parameters.set('sslmode', 'prefer')
  const take = <Option extends string>(options: Readonly<Record<string, Option>>) =>
    Object.entries(options).flatMap(([name, option]) => {
      const value = parameters.get(name)
      parameters.delete(name)
      return value === null ? [] : [{ name, option, value }]
    })
  const [named, further] = [take(files), take(texts)]
  const isRequired = named.length > 0 || (further.length > 0 && parameters.get('sslmode') === 'require')
  const isForNode = mode !== 'disable' && (isRequired || mode.startsWith('verify-'))
  // Without an explicit option, postgres.js reads PGSSL from the environment.
  if (!parameters.has('sslmode') && !parameters.has('ssl') && !isForNode) return () => ({ ssl: false })
  if (!isForNode) return () => ({})
  parameters.delete('sslmode')
  const read = named.filter(({ value }) => value !== 'system') // Node's own root certificates
  const common = Object.fromEntries(further.map(({ option, value }) => [option, value]))
  return (host) => ({ ssl: new ServerTls(read, common, variable, verification(mode, authority, host)) })
}

type Check = NonNullable<tls.ConnectionOptions['checkServerIdentity']>

/** The TLS options of a server. postgres.js reads the fields whenever it connects. */
export class ServerTls implements tls.ConnectionOptions, FromFiles {
  declare secureContext: tls.SecureContext
  #contents: readonly string[] | undefined
  readonly #files: readonly NamedFile[]
  readonly #common: tls.SecureContextOptions
  readonly #variable: string
  #server: CertificateLife | undefined
  #client: CertificateLife | undefined

  constructor(
    files: readonly NamedFile[],
    common: tls.SecureContextOptions,
    variable: string,
    verification: tls.ConnectionOptions,
  ) {
    this.#files = files
    this.#common = common
    this.#variable = variable
    Object.assign(this, verification)
    const { checkServerIdentity: check } = verification
    if (check !== undefined) Object.assign(this, { checkServerIdentity: this.#noting(check) })
    this.refresh()
  }

  /** The life of the last server certificate that was accepted, if certificates are verified. */
  get serverLife(): CertificateLife | undefined {
    return this.#server
  }

  /** The life of the service's own certificate, if it has one. */
  get clientLife(): CertificateLife | undefined {
    return this.#client
  }

  // Node calls the check only for a valid certificate of a known authority. For an expired one, the last life
  // stays.
  #noting(check: Check): Check {
    return (host, certificate) => {
      this.#server = shortestLife(certificate)
      return check(host, certificate)
    }
  }

  refresh(): void {
    const contents = this.#files.map(({ name, value }) => readNamed(value, `${this.#variable}: ${name}`))
    if (this.#contents?.every((each, i) => each === contents[i])) return
    this.secureContext = this.#contextOf(contents)
    this.#contents = contents
    const own = contents[this.#files.findIndex(({ option }) => option === 'cert')]
    this.#client = own === undefined ? undefined : lifeOf(new X509Certificate(own))
  }

  #contextOf(contents: readonly string[]): tls.SecureContext {
    const each = this.#files.map(({ option }, i) => ({ [option]: contents[i] }))
    try {
      for (const { ca } of each) if (ca !== undefined) new X509Certificate(ca) // throws; Node ignores it
      return tls.createSecureContext(Object.assign({}, this.#common, ...each))
    } catch (error) {
      const atFault = this.#files.filter((_, i) => !isUsable({ ...this.#common, ...each[i] }))
      const names = this.#namesOf(atFault.length > 0 ? atFault : this.#files)
      throw new OperatorError(`${this.#variable}: TLS cannot be used: ${(error as Error).message}${names}`)
    }
  }

  #namesOf(files: readonly NamedFile[]): string {
    return files.length === 0 ? '' : ` (${files.map(({ name, value }) => `${name} ${value}`).join(', ')})`
  }

  /** Adds the file at fault, if there is one, to the error of a connection. */
  explain(error: Error): void {
    const about = faults.find(([code]) => code.test(codeOf(error)))?.[1]
    error.message += this.#namesOf(this.#files.filter(({ name }) => name === about))
  }
}

// The codes of Node (X509_V_ERR_…, TLS alerts of the server), and the parameter whose file is at fault.
const faults: readonly (readonly [code: RegExp, parameter: keyof typeof files])[] = [
  [/CRL/, 'sslcrl'],
  [/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_SIGNATURE_|INVALID_CA)/, 'sslrootcert'],
  [/^ERR_SSL_.*ALERT_.*(CERT|CA)/, 'sslcert'],
]

function isUsable({ ca, ...options }: tls.SecureContextOptions): boolean {
  try {
    if (ca !== undefined) new X509Certificate(String(ca))
    tls.createSecureContext(options)
    return true
  } catch {
    return false
  }
}

function verification(mode: string, authority: string | null, host: string): tls.ConnectionOptions {
  if (mode === 'verify-full')
    return { checkServerIdentity: (_, certificate) => tls.checkServerIdentity(host, certificate) }
  return mode === 'verify-ca' || authority !== null
    ? { checkServerIdentity: () => undefined }
    : { rejectUnauthorized: false }
}
