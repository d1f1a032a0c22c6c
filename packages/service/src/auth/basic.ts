// Authenticates callers by name and password (HTTP Basic, RFC 7617). A function of the team verifies them.

import type { Check, UsernamePassword } from 'contract-engine'
import type { CheckFactory, CheckParts } from './checks.js'
import type { Client } from './client.js'
import { planOfCaller, requirePlan } from './plans.js'
import { wordsIn } from './scopes.js'

/** Who has sent a valid name and password. */
export interface Identity {
  /** Default: the name. Logs, rate limits and stored responses identify the caller by it. */
  readonly subject?: string
  /** The caller's scopes, as words in a text or in a list. Default: none. */
  readonly scopes?: Iterable<string>
  /** Facts for handlers. `x-rate-limits` may take the caller's plan from one of them. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Verifies a name and a password. Return undefined if they are not valid. Compare secrets in constant time
 * (`timingSafeEqual` of node:crypto, on hashes). Throw `unavailable(cause)` if a system that you ask does not
 * answer.
 */
export type VerifyPassword = (
  username: string,
  password: string,
) => Identity | undefined | Promise<Identity | undefined>

/**
 * Makes the check of an `http` `basic` scheme. It verifies the password of each request, and remembers
 * nothing.
 */
export function basic(verify: VerifyPassword): CheckFactory<UsernamePassword> {
  return (parts): Check<Client, UsernamePassword> => {
    requirePlan(parts.contract, parts.scheme)
    const find = async ({ username, password }: UsernamePassword) => {
      const identity = await verify(username, password)
      return identity && toClient(identity, username, parts)
    }
    // Not in the slots of keys, because `verify` may hang.
    return { caller: (sent) => parts.loadShedder.run(() => find(sent), `asked for ${parts.scheme}`) }
  }
}

function toClient(identity: Identity, username: string, { scheme, contract }: CheckParts): Client {
  const { subject = username, scopes = [], claims = {} } = identity
  return {
    scheme,
    subject,
    scopes: new Set(wordsIn(scopes)),
    ...planOfCaller(contract, scheme, claims),
    expiresAt: undefined,
    claims,
  }
}
