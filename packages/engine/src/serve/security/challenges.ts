// Challenges: `WWW-Authenticate` of a 401 (RFC 9110, section 11.6.1), and of a 403 for lack of a scope (RFC
// 6750, section 3.1).

import type { SecurityScheme } from '../../document/contract.js'
import type { CredentialPlace } from '../../document/security.js'
import { capitalized } from '../../lib/texts.js'

/** The challenge of a scheme. */
export interface Challenge {
  /** The scheme and its own parameters: `Bearer realm="Toys"`. Challenges with equal texts are sent once. */
  readonly text: string
  /** True if `error` and `scope` of RFC 6750 may follow. */
  readonly hasErrors: boolean
}

/** Returns the challenge of a scheme whose credentials are sent in `place`. */
export function challengeOf(scheme: SecurityScheme, place: CredentialPlace, realm: string): Challenge {
  const space = `realm=${quoted(realm)}`
  if (place.in !== 'authorization' || scheme.type === 'apiKey') {
    // No RFC defines a challenge for API keys, but RFC 9110 requires one, and a client needs to know the
    // place.
    const text = `ApiKey ${space}, in=${quoted(place.in)}, name=${quoted(scheme.name ?? place.name)}`
    return { text, hasErrors: true }
  }
  if (place.name === 'bearer') return { text: `Bearer ${space}`, hasErrors: true }
  const name = capitalized(place.name)
  // Without `charset`, each client would choose an encoding of its own (RFC 7617, section 2.1).
  return { text: `${name} ${space}${name === 'Basic' ? ', charset="UTF-8"' : ''}`, hasErrors: false }
}

/** A challenge, and why the request did not meet its scheme. */
export interface Refused {
  readonly challenge: Challenge
  /** What is wrong with the credential; undefined if none was sent. */
  readonly reason: string | undefined
}

/** Returns the value of `WWW-Authenticate`: each challenge once, with its error if a credential was sent. */
export function challenges(refused: readonly Refused[]): string {
  const texts = new Map<string, string>()
  for (const { challenge, reason } of refused) {
    const { text, hasErrors } = challenge
    if (reason !== undefined && hasErrors) texts.set(text, `${text}${invalidToken(reason)}`)
    else if (!texts.has(text)) texts.set(text, text)
  }
  return [...texts.values()].join(', ')
}

function invalidToken(reason: string): string {
  return `, error="invalid_token", error_description=${quoted(reason.replace(/\.$/, ''))}`
}

/**
 * Returns the value of `WWW-Authenticate` for a caller who lacks scopes; undefined if no challenge can say
 * so.
 */
export function scopeChallenge(
  needed: readonly { readonly challenge: Challenge; readonly scopes: readonly string[] }[],
): string | undefined {
  const texts = needed
    .filter(({ challenge }) => challenge.hasErrors)
    .map(({ challenge, scopes }) => {
      return `${challenge.text}, error="insufficient_scope", scope=${quoted(scopes.join(' '))}`
    })
  return texts.length === 0 ? undefined : [...new Set(texts)].join(', ')
}

// Returns a quoted-string (RFC 9110, section 5.6.4), in ASCII as field values are.
function quoted(text: string): string {
  const ascii = text.normalize('NFKD').replace(/[^ -~]/g, '')
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}
