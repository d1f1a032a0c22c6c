// Who sent a request, with the quotas of its plan.

import type { Caller } from 'contract-engine'
import { type ClientKey, countPlans } from '../database/api-keys.js'
import type { Sql } from '../database/database.js'
import { OperatorError } from '../lib/operator-error.js'
import type { Named } from '../middleware/caller-id.js'
import { unavailable } from '../middleware/unavailable.js'
import { type Quotas, type ServiceContract, unlimitedQuotas } from './plans.js'

/** A caller whose credential is valid, as the check of a security scheme found it. */
export interface Client extends Named, Caller {
  /** The scheme that was met, by its name in the contract. */
  readonly scheme: string
  /** Who it is: the same for each credential of the caller, and no other's. For keys, `keyId`. */
  readonly subject: string
  readonly plan: string
  readonly quotas: Quotas
  /** When the credential ends; undefined: not by itself. */
  readonly expiresAt: Date | undefined
  /** Of an API key: its id, which `keys list` shows. */
  readonly keyId?: string
  /** What else the credential says, such as the claims of a JWT. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Converts a stored key to its client.
 * @param scheme that the key meets
 * @throws {RequestError} `unavailable` if the contract lacks the plan, or a custom plan's key has no quotas
 */
export function toClient(key: ClientKey, scheme: string, limits: Limits): Client {
  const quotas = quotasOf(key, limits)
  if (quotas === undefined)
    throw unavailable(new Error(`key ${key.id} has the plan ${key.plan}, which gives it no quotas`))
  const keyId = String(key.id)
  const { scopes, plan, expiresAt } = key
  return {
    scheme,
    subject: keyId,
    scopes: new Set(scopes),
    plan,
    quotas,
    expiresAt: expiresAt ?? undefined,
    keyId,
  }
}

/** How the log names a caller: by the id of its key, or else by its scheme and subject. */
export function namesOf(client: Client | undefined): object {
  if (client?.keyId !== undefined) return { keyId: client.keyId }
  return client === undefined ? {} : { scheme: client.scheme, subject: client.subject }
}

type Limits = Pick<ServiceContract, 'hasRateLimits' | 'rateLimits'>

function quotasOf(
  { plan, perMinute, perDay }: Pick<ClientKey, 'plan' | 'perMinute' | 'perDay'>,
  { hasRateLimits, rateLimits }: Limits,
): Quotas | undefined {
  if (!hasRateLimits) return unlimitedQuotas
  const fixed = rateLimits.plans.get(plan)
  const agreed = perMinute === null || perDay === null ? undefined : { perMinute, perDay }
  return fixed === 'custom' ? agreed : fixed
}

/**
 * Checks that every stored key has quotas, which an edit of the contract may have removed.
 * @throws {OperatorError} naming the plans without quotas
 */
export async function checkPlans(sql: Sql, limits: Limits): Promise<void> {
  const left = (await countPlans(sql)).filter((plan) => quotasOf(plan, limits) === undefined)
  if (left.length === 0) return
  const lines = left.map(({ plan, keys }) => `${plan} (${keys} ${keys === 1 ? 'key' : 'keys'})`)
  throw new OperatorError(
    `The contract's x-rate-limits give no quotas to keys of the plan ${lines.join(', ')}.
Put the plan back, or revoke its keys, with "keys list" and "keys revoke ID".`,
  )
}
