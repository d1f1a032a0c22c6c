// Pages of other sites. A browser adds its cookies to the requests that any page has it send: any page that
// a user visits could do what the user may (RFC 6265, section 8.2). Who sent a request, browsers say:
// `Sec-Fetch-Site` (W3C Fetch Metadata, section 2.4), and those before 2023 `Origin`. A page can set
// neither. What has neither is sent by no page.

import type { FastifyRequest } from 'fastify'
import type { Operation } from '../../document/contract.js'
import { type CredentialPlace, headerOf } from '../../document/security.js'
import { Address, type AddressOptions } from '../paths/address.js'

/** Says whose pages may send requests with a cookie that is a credential. */
export interface CookieOptions {
  /**
   * Origins beside the server's own, such as `https://app.example`; with `any`, the checks or the handlers
   * decide. By default, there are none. Safe requests are not guarded.
   */
  readonly cookieOrigins?: readonly string[] | 'any' | undefined
  /** Where callers reach the operations, from which the server's own origin follows. */
  readonly address?: AddressOptions | undefined
}

/** True if the request was sent by a page that may not use its cookie. */
export type IsForeign = (request: FastifyRequest) => boolean

/**
 * Creates the guard of cookies; returns undefined if any page may use them.
 * @throws {TypeError} for a text that is no origin, and so could never be that of a request
 */
export function createCookieGuard({ cookieOrigins = [], address }: CookieOptions): IsForeign | undefined {
  if (cookieOrigins === 'any') return undefined
  const unclear = cookieOrigins.find((each) => !URL.canParse(each) || new URL(each).origin !== each)
  if (unclear !== undefined)
    throw new TypeError(`cookieOrigins: ${unclear} is no origin, such as https://app.example`)
  const allowed = new Set(cookieOrigins)
  const own = new Address('', address)
  return (request) => {
    const { 'sec-fetch-site': site, origin } = request.headers
    if (site === 'same-origin' || site === 'none') return false
    if (origin !== undefined && allowed.has(origin)) return false
    if (site !== undefined) return true // also for values that no browser sends
    return origin !== undefined && !own.isOrigin(origin, request)
  }
}

/**
 * True if a page of another site could make a user's browser send a request of this operation that changes
 * something.
 */
export function isGuarded({ isSafe, method }: Operation): boolean {
  return !isSafe && method !== 'OPTIONS' // a page cannot send OPTIONS with cookies
}

/** True if browsers add the credential in this place to the requests of any page. */
export function isCookie(place: CredentialPlace): boolean {
  return headerOf(place) === 'cookie'
}
