// Authenticates callers by JSON Web Token: an access token of an OpenID issuer. It remembers a verified
// token: to find one takes 0.001 ms of CPU, to verify its signature 0.1 to 0.2 ms.

import { hash } from 'node:crypto'
import type { Check } from 'contract-engine'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { createCache } from '../lib/cache.js'
import { elapsedMs } from '../lib/clock.js'
import { readIssuerUrl } from '../lib/issuer-url.js'
import { OperatorError } from '../lib/operator-error.js'
import type { CheckParts } from './checks.js'
import type { Client } from './client.js'
import { Issuer, refreshMs } from './issuer.js'
import { planOfCaller, requirePlan } from './plans.js'
import { wordsIn } from './scopes.js'
import {
  algorithms,
  type Expectations,
  type InSlot,
  isUsualType,
  mediaType,
  type VerifiedClaims,
  verifyToken,
} from './verify-token.js'

export interface JwtOptions {
  /** The issuer, as tokens name it; by default `OIDC_ISSUER`. */
  readonly issuer?: string
  /** Whom tokens must be for, or one of several; by default `OIDC_AUDIENCE`. */
  readonly audience?: string | readonly string[]
  /** The algorithms that the issuer may sign with; by default all asymmetric ones. */
  readonly algorithms?: Expectations['algorithms']
  /** By how much the clocks of issuer and service may differ; by default 5. */
  readonly clockToleranceSeconds?: number
  /**
   * What `typ` must be, such as `at+jwt` (RFC 9068); by default that, `JWT`, or none. Two schemes for tokens
   * of one issuer are told apart by it, if one has another: `refresh+jwt`.
   */
  readonly type?: string
  /** What a caller may do: words in a text or in a list; by default those of `scope` and of `scp`. */
  readonly scopes?: (claims: VerifiedClaims) => unknown
}

/** @throws {OperatorError} if nothing says the issuer or the audience */
export class JwtCheck implements Check<Client> {
  readonly recognizes: (token: string) => boolean
  readonly #issuer: Issuer
  readonly #expectations: Expectations
  readonly #remembered: RememberedTokens

  constructor(
    readonly parts: CheckParts,
    readonly options: JwtOptions,
  ) {
    requirePlan(parts.contract, parts.scheme)
    const { scheme, log, loadShedder } = parts
    this.#issuer = new Issuer(issuerOf(parts, options), log, (work) =>
      loadShedder.run(work, `asked for ${scheme}`),
    )
    this.#expectations = expectationsOf(parts, options)
    this.#remembered = new RememberedTokens(this.#expectations.clockTolerance)
    this.recognizes = recognizerOf(this.#issuer.url, ownType(options.type))
    this.#issuer.prepare()
  }

  /** The caller of a token, at once if it was verified before. Rejects with a 401, a 503 or `overload`. */
  caller(token: string): Client | Promise<Client> {
    const key = hash('sha256', token, 'hex')
    return this.#remembered.valid(key) ?? this.#verify(token, key)
  }

  /** The caller when the token was last verified: it may have expired. */
  recall(token: string): Client | undefined {
    return this.#remembered.recall(hash('sha256', token, 'hex'))
  }

  // A token that this process has never verified may be forged.
  async #verify(token: string, key: string): Promise<Client> {
    const lane = this.#remembered.recall(key) === undefined ? 'unknown keys' : 'work'
    const inSlot: InSlot = (work) => this.parts.loadShedder.run(work, lane)
    const claims = await verifyToken(token, this.#issuer, this.#expectations, inSlot)
    const client = toClient(claims, this.parts, this.options.scopes)
    this.#remembered.add(key, token.length, client)
    return client
  }
}

function issuerOf({ scheme, config }: CheckParts, options: JwtOptions): string {
  const issuer = options.issuer ?? config.oidcIssuer
  if (issuer === undefined)
    throw new OperatorError(`The security scheme ${scheme} needs the issuer of its tokens: set OIDC_ISSUER.`)
  if (readIssuerUrl(issuer) === undefined)
    throw new OperatorError(
      `The issuer of the security scheme ${scheme} must be an https URL, not ${issuer}.`,
    )
  return issuer
}

function expectationsOf({ scheme, config }: CheckParts, options: JwtOptions): Expectations {
  // Tokens for other services of the same issuer would do (RFC 8725, section 3.9).
  const audience = [options.audience ?? config.oidcAudience ?? []].flat()
  if (audience.length === 0)
    throw new OperatorError(
      `The security scheme ${scheme} needs the audience of its tokens: set OIDC_AUDIENCE.`,
    )
  const { algorithms: allowed = algorithms, clockToleranceSeconds: clockTolerance = 5, type } = options
  if (allowed.length === 0 || !allowed.every((each) => algorithms.includes(each)))
    throw new OperatorError(
      `The algorithms of the security scheme ${scheme} must be some of ${algorithms.join(', ')}.`,
    )
  if (!(clockTolerance >= 0 && clockTolerance <= clockToleranceMax))
    throw new OperatorError(
      `clockToleranceSeconds of the security scheme ${scheme} must be from 0 to ${clockToleranceMax}.`,
    )
  return { audience, algorithms: allowed, clockTolerance, type }
}

// RFC 7519, section 4.1.4: "no more than a few minutes".
const clockToleranceMax = 300

// RFC 8693, section 4.2, and what others send instead: a list, or words, under another name.
function usualScopes({ scope, scp }: VerifiedClaims): unknown {
  return [scope, scp]
}

// ECMAScript has no later dates.
const dateMaxMs = 8.64e15

function toClient(claims: VerifiedClaims, { scheme, contract }: CheckParts, read = usualScopes): JwtClient {
  return {
    scheme,
    subject: claims.sub,
    scopes: new Set(wordsIn(read(claims))),
    ...planOfCaller(contract, scheme, claims),
    expiresAt: new Date(Math.min(claims.exp * 1000, dateMaxMs)),
    claims,
  }
}

interface JwtClient extends Client {
  readonly expiresAt: Date
}

// Of all tokens together, each with what its entry takes besides.
const rememberedCharactersMax = 8_000_000
const entryCharacters = 500

/** Callers of verified tokens, by hash. A forged token is never among them, and so evicts none. */
class RememberedTokens {
  readonly #callers = createCache<{
    readonly client: JwtClient
    readonly untilMs: number
    readonly size: number
  }>(rememberedCharactersMax, ({ size }) => size)

  /** @param clockTolerance in seconds */
  constructor(readonly clockTolerance: number) {}

  /** The caller, if the token is still valid. */
  valid(key: string): Client | undefined {
    const entry = this.#callers.get(key)
    return entry !== undefined && elapsedMs() < entry.untilMs ? entry.client : undefined
  }

  /** The caller, however long ago. */
  recall(key: string): Client | undefined {
    return this.#callers.get(key)?.client
  }

  /**
   * Remembers a caller until its token ends, or is to be verified again: its key may have been taken back.
   */
  add(key: string, characters: number, client: JwtClient): void {
    const restMs = client.expiresAt.getTime() + this.clockTolerance * 1000 - Date.now()
    const untilMs = elapsedMs() + Math.min(restMs, refreshMs)
    this.#callers.set(key, { client, untilMs, size: characters + entryCharacters })
  }
}

const recognizers = new Map<string, (token: string) => boolean>()

// One function for each issuer, and for each type that is no usual one: schemes with the same function are of
// the same form, and tokens of two issuers are told apart by their names, an access token and a refresh token
// of one by their types. Whether a token is really of its issuer is verified later.
function recognizerOf(issuer: string, type: string | undefined): (token: string) => boolean {
  const key = JSON.stringify([issuer, type])
  const known = recognizers.get(key)
  if (known !== undefined) return known
  const isOfIssuer = (token: string) => issuerNamed(token) === issuer
  const recognizes =
    type === undefined ? isOfIssuer : (token: string) => isOfIssuer(token) && typeNamed(token) === type
  recognizers.set(key, recognizes)
  return recognizes
}

function ownType(type: string | undefined): string | undefined {
  return type === undefined || isUsualType(type) ? undefined : mediaType(type)
}

// Three parts in base64url.
const form = /^[\w-]+\.[\w-]+\.[\w-]+$/

function issuerNamed(token: string): unknown {
  if (!form.test(token)) return undefined
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

function typeNamed(token: string): string | undefined {
  try {
    const { typ } = decodeProtectedHeader(token)
    return typeof typ === 'string' ? mediaType(typ) : undefined
  } catch {
    return undefined
  }
}
