// Authenticates callers by name and password (HTTP Basic, RFC 7617), which a team's own function verifies.

import type { Check, UsernamePassword } from 'contract-engine'
import type { CheckFactory, CheckParts } from './checks.js'
import type { Client } from './client.js'
import { planOfCaller, requirePlan } from './plans.js'
import { wordsIn } from './scopes.js'

/** Who has sent a valid name and password. */
export interface Identity {
  /** By default the name. It is logged, counted by, and stored with responses to repeated requests. */
  readonly subject?: string
  /** What the caller may do, words in a text or in a list; by default nothing that demands a scope. */
  readonly scopes?: Iterable<string>
  /** For handlers; and where `x-rate-limits` names one of them, the caller's plan. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Verifies a name and a password. Undefined: they are not valid. Compare secrets in a time that does not
 * depend on them (`timingSafeEqual` of node:crypto, on hashes), and throw `unavailable(cause)` if a system
 * that has to be asked does not answer.
 */
export type VerifyPassword = (
  username: string,
  password: string,
) => Identity | undefined | Promise<Identity | undefined>

/** The check of an `http` `basic` scheme. Nothing is remembered: the password of each request is verified. */
export function basic(verify: VerifyPassword): CheckFactory<UsernamePassword> {
  return (parts): Check<Client, UsernamePassword> => {
    requirePlan(parts.contract, parts.scheme)
    const find = async ({ username, password }: UsernamePassword) => {
      const identity = await verify(username, password)
      return identity && toClient(identity, username, parts)
    }
    // What verifies it may hang: not in the slots of keys.
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
