// Verifies the signature and claims of an OpenID issuer's JSON Web Tokens (RFC 7519, RFC 8725, RFC 9068),
// without asking the issuer for each token. jose does the cryptography.

import { RequestError } from 'contract-engine'
import {
  type CryptoKey,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose'
import { unavailable } from '../middleware/unavailable.js'
import type { Issuer } from './issuer.js'

// Only asymmetric algorithms (RFC 8725, section 3.2). With `none`, or an HMAC of the public key, anybody
// could sign.
export const algorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const

/** The requirements of a token. */
export interface Expectations {
  /** The token must be for one of these. */
  readonly audience: readonly string[]
  readonly algorithms: readonly (typeof algorithms)[number][]
  /** The allowed difference, in seconds, between the clocks of issuer and service. */
  readonly clockTolerance: number
  /** The media type in the header. Undefined allows `at+jwt`, `JWT` or none. */
  readonly type: string | undefined
}

/** Verified claims. */
export interface VerifiedClaims extends Readonly<JWTPayload> {
  readonly sub: string
  readonly exp: number
}

/** Runs the verification of a signature in a slot. */
export type InSlot = (work: () => Promise<JWTVerifyResult>) => Promise<JWTVerifyResult>

/**
 * Returns the claims of a token. They are frozen, because requests share them.
 * @param inSlot default: runs the work without a slot
 * @throws {RequestError} 401 for a token that is not valid, 503 if its issuer does not answer
 */
export async function verifyToken(
  token: string,
  issuer: Issuer,
  expected: Expectations,
  inSlot: InSlot = (work) => work(),
): Promise<VerifiedClaims> {
  try {
    const header = headerOf(token, expected)
    const options = { ...optionsOf(expected), issuer: issuer.url } // now: the time of arrival
    const verify = (keys: readonly CryptoKey[]) => inSlot(() => verifyByAny(keys, token, options))
    const verified = await verify(await issuer.findKeys(header)).catch(async (error: unknown) => {
      // The key may be newer than the known ones, which a header that names no key does not tell.
      if (header.kid !== undefined || !isOfSignature(error)) throw error
      return verify(await issuer.findNewerKeys(header))
    })
    checkType(verified, expected.type)
    return frozen(checkClaims(verified.payload))
  } catch (error) {
    throw refusalOf(error)
  }
}

// Runs before the search for the key, so that a malformed token does not wait for the issuer.
function headerOf(token: string, { algorithms }: Expectations): ProtectedHeaderParameters {
  let header: ProtectedHeaderParameters
  try {
    header = decodeProtectedHeader(token)
  } catch (cause) {
    throw new errors.JWSInvalid('it has no header', { cause })
  }
  const { alg, kid } = header as { readonly [name: string]: unknown }
  if (!algorithms.some((each) => each === alg)) throw new errors.JOSEAlgNotAllowed('its "alg" is not allowed')
  if (kid !== undefined && typeof kid !== 'string') throw new errors.JWSInvalid('its "kid" is no text')
  return header
}

function optionsOf({ audience, algorithms, clockTolerance }: Expectations): JWTVerifyOptions {
  return {
    audience: [...audience],
    algorithms: [...algorithms],
    clockTolerance,
    requiredClaims: ['exp', 'sub'],
    currentDate: new Date(Date.now()),
  }
}

// Verifies the token with each key until one fits. Skips keys that cannot be used, such as short ones.
async function verifyByAny(
  keys: readonly CryptoKey[],
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  let failure: unknown
  for (const key of keys)
    try {
      return await jwtVerify(token, key, options)
    } catch (error) {
      if (error instanceof errors.JOSEError && !isOfSignature(error)) throw error
      failure = isOfSignature(failure) ? failure : error
    }
  throw failure
}

function isOfSignature(error: unknown): boolean {
  return error instanceof errors.JWSSignatureVerificationFailed
}

// RFC 8725, section 3.11: a token that the issuer signs for another purpose, such as a logout, is no access
// token. Many issuers do not send the type of RFC 9068 yet.
const usualTypes = ['at+jwt', 'jwt', undefined]

/** True if a type is accepted by default. */
export function isUsualType(type: string): boolean {
  return usualTypes.includes(mediaType(type))
}

function checkType({ protectedHeader }: JWTVerifyResult, type: string | undefined): void {
  const types: readonly unknown[] = type === undefined ? usualTypes : [mediaType(type)]
  const typ: unknown = protectedHeader.typ // jose has not checked it
  if (!types.includes(typeof typ === 'string' ? mediaType(typ) : typ))
    throw new errors.JWTInvalid('unexpected "typ"')
}

/** Returns a type without `application/`, which senders may leave out (RFC 7515, section 4.1.9). */
export function mediaType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}

// OpenID Connect Core 1.0, section 2. No control characters, because the subject is logged and stored.
const subject = /^[^\p{Cc}\p{Cs}]{1,255}$/u

function checkClaims(payload: JWTPayload): VerifiedClaims {
  const { sub, aud, exp, nbf, iat } = payload
  if (typeof sub !== 'string' || !subject.test(sub))
    throw new errors.JWTInvalid('"sub" must have 1 to 255 characters')
  // RFC 7519, section 4.1.3. jose only looks for an expected audience.
  if (Array.isArray(aud) && !aud.every((each) => typeof each === 'string'))
    throw new errors.JWTInvalid('"aud" must be texts')
  // jose has required numbers, but JSON.parse makes infinity of 1e400.
  for (const time of [exp, nbf, iat])
    if (time !== undefined && !Number.isFinite(time))
      throw new errors.JWTInvalid('a time is no finite number')
  return payload as VerifiedClaims // jose has required "exp"
}

// As for bodies. Code that reads claims, such as the log, may be recursive.
const depthMax = 100

function frozen(claims: VerifiedClaims): VerifiedClaims {
  let level: readonly object[] = [claims]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= depthMax) throw new errors.JWTInvalid('the claims are nested too deeply')
    for (const each of level) Object.freeze(each)
    level = level.flatMap((each) => Object.values(each)).filter((each) => Object(each) === each)
  }
  return claims
}

const causeMax = 200

// The description has the words of RFC 6750, section 3.1. The cause says more, but without the token and its
// claims, which jose's errors contain.
function refusalOf(error: unknown): unknown {
  if (error instanceof RequestError) return error
  const { message } = error as Error
  // JWKSInvalid: the issuer's key with the token's name does not fit its algorithm.
  if (!(error instanceof errors.JOSEError) || error instanceof errors.JWKSInvalid) return unavailable(error)
  return new RequestError('invalid_credentials', descriptionOf(error), {
    status: 401,
    cause: new Error(message.slice(0, causeMax)), // some of jose's messages contain parts of the token
  })
}

function descriptionOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.'
  const { claim } = error as Partial<errors.JWTClaimValidationFailed>
  if (claim === 'nbf') return 'The token is not valid yet.'
  if (claim === 'aud') return 'The token is for another audience.'
  return 'The token is malformed, not signed by the issuer, or lacks a claim.'
}
