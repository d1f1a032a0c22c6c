// TLS to PostgreSQL by libpq's URL parameters (PostgreSQL 18, section 32.19). postgres.js 3.4.9 reads no
// certificate files, verifies the host name under `verify-ca`, and compares an address's certificate with
// `localhost`.

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

/** The TLS options of postgres.js for a host; none where postgres.js reads `sslmode` in the URL itself. */
export type TlsOf = (host: string) => { readonly ssl?: ServerTls | false }

/** A file that a parameter of the URL names, as an option of Node's. */
interface NamedFile {
  readonly name: string
  readonly option: (typeof files)[keyof typeof files]
  readonly value: string
}

/**
 * Reads `sslmode`, the `files` and the `texts`, and removes or changes those that postgres.js would misread.
 * The files are read now, to fail the startup, and before each connection: certificates are renewed, and a
 * list of revoked ones ends. As in libpq, a root certificate makes `require` verify the certificate's
 * authority.
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
  const take = <Option extends string>(options: Readonly<Record<string, Option>>) =>
    Object.entries(options).flatMap(([name, option]) => {
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
  const read = named.filter(({ value }) => value !== 'system') // Node's own root certificates
  const common = Object.fromEntries(further.map(({ option, value }) => [option, value]))
  return (host) => ({ ssl: new ServerTls(read, common, variable, verification(mode, authority, host)) })
}

type Check = NonNullable<tls.ConnectionOptions['checkServerIdentity']>

/** The TLS options of a server. postgres.js takes the fields when it connects. */
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

  /** That of the last server whose certificate was accepted, if one was verified. */
  get serverLife(): CertificateLife | undefined {
    return this.#server
  }

  /** That of this side's own certificate, if it has one. */
  get clientLife(): CertificateLife | undefined {
    return this.#client
  }

  // Called for a certificate of a known authority; for one that has ended it is not, and the last stays.
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
      for (const { ca } of each) if (ca !== undefined) new X509Certificate(ca) // Node ignores what is none
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

  /** Adds to the error of a connection the file that it is about, if there is one. */
  explain(error: Error): void {
    const about = faults.find(([code]) => code.test(codeOf(error)))?.[1]
    error.message += this.#namesOf(this.#files.filter(({ name }) => name === about))
  }
}

// The codes of Node (X509_V_ERR_…, TLS alerts of the server) and what they are about.
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
