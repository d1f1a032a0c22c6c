// Verifies JSON Web Tokens of an OpenID issuer: signature and claims (RFC 7519, RFC 8725, RFC 9068), without
// asking the issuer about each. jose does the cryptography.

import { errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose'
import { unavailable } from '../middleware/unavailable.js'
import { RequestError } from '../openapi/index.js'
import type { Issuer } from './issuer.js'

// Asymmetric alone (RFC 8725, section 3.2): with `none`, and by an HMAC of the public key, anybody could
// sign.
export const algorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const

/** What a token must be. */
export interface Expectations {
  /** For any of them. */
  readonly audience: readonly string[]
  readonly algorithms: readonly (typeof algorithms)[number][]
  /** By how many seconds the clocks of issuer and service may differ. */
  readonly clockTolerance: number
  /** The media type in its header; undefined: `at+jwt`, `JWT`, or none. */
  readonly type: string | undefined
}

/** Claims that are verified. */
export interface VerifiedClaims extends Readonly<JWTPayload> {
  readonly sub: string
  readonly exp: number
}

/**
 * The claims of a token, frozen: requests share them.
 * @throws {RequestError} 401 for a token that does not do, 503 if its issuer cannot be asked for a key
 */
export async function verifyToken(
  token: string,
  issuer: Issuer,
  { audience, algorithms, clockTolerance, type }: Expectations,
): Promise<VerifiedClaims> {
  try {
    const verified = await jwtVerify(token, (header) => issuer.findKey(header), {
      issuer: issuer.url,
      audience: [...audience],
      algorithms: [...algorithms],
      clockTolerance,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(Date.now()),
    })
    checkType(verified, type)
    return frozen(checkSubject(verified.payload))
  } catch (error) {
    throw refusalOf(error)
  }
}

// RFC 8725, section 3.11: what the issuer signs for other purposes, such as a logout, is no access token.
// Many issuers do not name the type of RFC 9068 yet.
const usualTypes = ['at+jwt', 'jwt', undefined]

function checkType({ protectedHeader: { typ } }: JWTVerifyResult, type: string | undefined): void {
  const types = type === undefined ? usualTypes : [mediaType(type)]
  if (!types.includes(typ === undefined ? undefined : mediaType(typ)))
    throw new errors.JWTInvalid('unexpected "typ"')
}

// RFC 7515, section 4.1.9: `application/` may be left out.
function mediaType(typ: unknown): string {
  return String(typ)
    .toLowerCase()
    .replace(/^application\//, '')
}

// OpenID Connect Core 1.0, section 2. It is stored, logged and counted by, and PostgreSQL stores no NUL.
const subject = /^[^\p{Cc}\p{Cs}]{1,255}$/u

function checkSubject(payload: JWTPayload): VerifiedClaims {
  if (typeof payload.sub !== 'string' || !subject.test(payload.sub))
    throw new errors.JWTInvalid('"sub" must have 1 to 255 characters')
  return payload as VerifiedClaims // jose has required a number as "exp"
}

function frozen(claims: VerifiedClaims): VerifiedClaims {
  return JSON.parse(JSON.stringify(claims), (_, value) => Object.freeze(value))
}

// What is wrong is said in the words of RFC 6750, section 3.1. The cause says more, without the token and its
// claims, which jose's errors have.
function refusalOf(error: unknown): unknown {
  if (error instanceof RequestError) return error
  const { message } = error as Error
  // The key that the issuer has published under the token's name is not one for its algorithm.
  if (!(error instanceof errors.JOSEError) || error instanceof errors.JWKSInvalid) return unavailable(error)
  return new RequestError('invalid_credentials', descriptionOf(error), {
    status: 401,
    cause: new Error(message),
  })
}

function descriptionOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.'
  const { claim } = error as Partial<errors.JWTClaimValidationFailed>
  if (claim === 'nbf') return 'The token is not valid yet.'
  if (claim === 'aud') return 'The token is for another audience.'
  return 'The token is malformed, not signed by the issuer, or lacks a claim.'
}
