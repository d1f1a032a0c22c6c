// Reads the options of a client and of a call: checks them, and adds their defaults.

import { readBaseUrl } from './base-url.js'
import type { AnyCallOptions } from './call.js'
import type { Clock } from './clock.js'
import { type Credentials, type GivenCredentials, keySchemeOf, readCredentials } from './credentials.js'
import { createDeprecationWarner } from './deprecation.js'
import type { ApiError } from './error.js'
import { type GivenHeaders, readHeaders } from './headers.js'
import { pageOrigin } from './platform.js'
import { CallQueues } from './queue.js'
import type { CalledOperation, ClientOperation, ClientTable } from './table.js'

/** How long a call may take. */
export interface Limits {
  /** Time limit of one attempt in milliseconds, including its body; `Infinity` for none. */
  readonly timeoutMs: number
  /** Maximum number of attempts, including the first. */
  readonly attemptsMax: number
  /**
   * If `Retry-After` asks for a longer wait, in milliseconds, the call fails at once; `Infinity` for no
   * limit.
   */
  readonly waitMaxMs: number
  /**
   * The longest time without a byte within a response that is read as it arrives, in milliseconds; undefined
   * for the default of `CommonOptions`.
   */
  readonly silenceMaxMs: number | undefined
}

/** A retry for which the client is about to wait. */
export interface Retry {
  /** The name of the operation. */
  readonly operation: string
  /** The number of attempts made. */
  readonly attempt: number
  /** The wait before the next attempt, in milliseconds. */
  readonly waitMs: number
  /** The error of the last attempt. */
  readonly error: ApiError
}

/** Options of a client, beside its credentials. */
export interface CommonOptions {
  /**
   * The URL of the operations, which ends with the contract's prefix, or with what a gateway puts in its
   * place: `https://api.example.com/v1`.
   */
  readonly baseUrl: string
  /** Headers of every request, for example for a gateway; none that the client writes itself. */
  readonly headers?: GivenHeaders | undefined
  /** Time limit of one attempt in milliseconds, including its body; `Infinity` for none. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of attempts, including the first. Default: 5. */
  readonly attemptsMax?: number | undefined
  /**
   * If `Retry-After` asks for a longer wait, in milliseconds, the call fails at once; `Infinity` for no
   * limit. Default: 90,000.
   */
  readonly waitMaxMs?: number | undefined
  /**
   * The longest silence, in milliseconds, within a stream of items, or within a file that is read as it
   * arrives; `Infinity` for no limit. A keep-alive of the service ends a silence. Default: four intervals of
   * the service's keep-alives, so that three may be lost; 60,000 for a file; no limit for a stream without
   * keep-alives (JSON Lines).
   */
  readonly silenceMaxMs?: number | undefined
  /** How many calls of a key are in flight at once; others wait for their turn. Default: 32. */
  readonly inFlightMax?: number | undefined
  /**
   * Receives warnings: about deprecated operations, about waits of 5 s or longer for a quota and, without
   * `onRetry`, about waits of 5 s or longer before a retry. Default: `console.warn`.
   */
  readonly warn?: ((message: string) => void) | undefined
  /** Is called before the wait of each retry. Default: a warning if the wait is 5 s or longer. */
  readonly onRetry?: ((retry: Retry) => void) | undefined
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
}

/** Options of a client of any contract. */
export interface AnyClientOptions extends CommonOptions, GivenCredentials {}

/** How the calls of a client are sent. */
export interface Settings extends Limits {
  /** The base URL, without a slash at its end. */
  readonly baseUrl: string
  /** The headers of every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly queues: CallQueues
  readonly table: ClientTable
  readonly credentials: Credentials
  fetch(request: Request): Promise<Response>
  onRetry(retry: Retry): void
  warnIfDeprecated(operation: CalledOperation, headers: Headers): void
}

const longWaitMs = 5_000

/**
 * Reads the options of a client.
 * @throws {TypeError} if an option is unknown or invalid
 */
export function readOptions(table: ClientTable, options: AnyClientOptions, clock: Clock): Settings {
  const { baseUrl, key, security, headers, inFlightMax = 32, ...told } = options
  const { timeoutMs, attemptsMax, waitMaxMs, silenceMaxMs, warn, onRetry, fetch: send, ...others } = told
  for (const name of Object.keys(others)) throw new TypeError(`unknown option: ${name}`)
  for (const [name, value] of Object.entries({ warn, onRetry, fetch: send }))
    if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function`)
  const tell = warn ?? ((message: string) => console.warn(message))
  // Omitted in browsers: they set their own, and Firefox would send a preflight request for a changed
  // `User-Agent`.
  const agent: Record<string, string> = pageOrigin() === undefined ? { 'User-Agent': table.agent } : {}
  return {
    baseUrl: baseUrlOf(baseUrl, table),
    table,
    credentials: credentialsOfClient(table, { key, security }),
    headers: readHeaders(agent, headers, table),
    ...readLimits({ timeoutMs, attemptsMax, waitMaxMs, silenceMaxMs }, defaults),
    clock,
    queues: new CallQueues({
      inFlightMax: readNumber('inFlightMax', inFlightMax),
      clock,
      onWait: (waitMs) => waitMs >= longWaitMs && tell(queueNotice(waitMs)),
    }),
    fetch: (request) => (send ?? fetch)(request), // browsers refuse their fetch as a method of another object
    onRetry: onRetry ?? ((retry) => retry.waitMs >= longWaitMs && tell(retryNotice(retry))),
    warnIfDeprecated: createDeprecationWarner(tell),
  }
}

/**
 * Reads the options of a call.
 * @throws {TypeError} if an option is unknown or invalid
 */
export function readCallOptions(settings: Settings, options: AnyCallOptions): Settings {
  const { key, security, headers, signal: _, ...limits } = options
  const { timeoutMs, attemptsMax, waitMaxMs, silenceMaxMs, ...others } = limits
  for (const name of Object.keys(others)) throw new TypeError(`unknown call option: ${name}`)
  return {
    ...settings,
    ...readLimits({ timeoutMs, attemptsMax, waitMaxMs, silenceMaxMs }, settings),
    headers: readHeaders(settings.headers, headers, settings.table),
    credentials: new Map([...settings.credentials, ...readCredentials(settings.table, { key, security })]),
  }
}

const missing = null as unknown as string // refused like any value that is no text

// If every call needs a key and the options have none, the client fails when it is created.
function credentialsOfClient(table: ClientTable, given: GivenCredentials): Credentials {
  const isMissing = given.key === undefined && given.security === undefined
  const needsKey = isMissing && keySchemeOf(table.securitySchemes) !== undefined && !hasPublic(table)
  return readCredentials(table, needsKey ? { key: missing } : given)
}

function hasPublic({ operations }: ClientTable): boolean {
  const isPublic = ({ security = [] }: ClientOperation) =>
    security.length === 0 || security.some((each) => each.length === 0)
  return Object.values(operations).some(isPublic)
}

const defaults: Limits = { timeoutMs: 30_000, attemptsMax: 5, waitMaxMs: 90_000, silenceMaxMs: undefined }

type Requirement = readonly [isMet: (value: number) => boolean, text: string]

const count: Requirement = [
  (value) => value > 0 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY),
  'a whole number above 0, or Infinity',
]
const positiveMs: Requirement = [(value) => value > 0, 'a number of milliseconds above 0, or Infinity']
const requirements: Record<keyof Limits | 'inFlightMax', Requirement> = {
  timeoutMs: positiveMs,
  silenceMaxMs: positiveMs,
  attemptsMax: count,
  waitMaxMs: [(value) => value >= 0, 'a number of milliseconds of at least 0, or Infinity'],
  inFlightMax: count,
}

function readLimits(given: { [Name in keyof Limits]?: number | undefined }, fallback: Limits): Limits {
  const read = (name: Exclude<keyof Limits, 'silenceMaxMs'>) => {
    const { [name]: value = fallback[name] } = given
    return readNumber(name, value)
  }
  const { silenceMaxMs = fallback.silenceMaxMs } = given
  return {
    timeoutMs: read('timeoutMs'),
    attemptsMax: read('attemptsMax'),
    waitMaxMs: read('waitMaxMs'),
    silenceMaxMs: silenceMaxMs === undefined ? undefined : readNumber('silenceMaxMs', silenceMaxMs),
  }
}

function readNumber(name: keyof typeof requirements, value: unknown): number {
  const [isMet, text] = requirements[name]
  if (typeof value === 'number' && isMet(value)) return value
  throw new TypeError(`${name} must be ${text}, not ${String(value)}`)
}

function baseUrlOf(text: string, { prefix }: ClientTable): string {
  const url = readBaseUrl(text)
  if (url !== undefined) return url
  throw new TypeError(
    'baseUrl must be an http or https URL without a query, ' +
      `such as https://api.example.com${prefix}, not ${JSON.stringify(text)}`,
  )
}

function queueNotice(waitMs: number): string {
  return `The quota of the key is used up: its calls wait ${Math.ceil(waitMs / 1000)} s for the next window.`
}

function retryNotice({ operation, waitMs, error }: Retry): string {
  return `${operation} waits ${Math.ceil(waitMs / 1000)} s before it is sent again: ${error.message}`
}
