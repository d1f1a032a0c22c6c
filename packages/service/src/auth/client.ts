// Who sent a request, with the quotas of its plan.

import type { Caller } from 'contract-engine'
import { type ClientKey, countPlans } from '../database/api-keys.js'
import type { Sql } from '../database/database.js'
import { OperatorError } from '../lib/operator-error.js'
import type { Named } from '../middleware/caller-id.js'
import { unavailable } from '../middleware/unavailable.js'
import { type Quotas, type ServiceContract, unlimitedQuotas } from './plans.js'

/** A caller with a valid credential, as the check of a security scheme describes it. */
export interface Client extends Named, Caller {
  /** The name, in the contract, of the scheme that the credential meets. */
  readonly scheme: string
  /** Identifies the caller: the same for all of its credentials, and unique to it. For keys, `keyId`. */
  readonly subject: string
  readonly plan: string
  readonly quotas: Quotas
  /** When the credential expires. Undefined if it does not. */
  readonly expiresAt: Date | undefined
  /** The id of an API key, as `keys list` shows it. */
  readonly keyId?: string
  /** Other facts of the credential, such as the claims of a JWT. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Converts a stored key to its client.
 * @param scheme the scheme that the key meets
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

/** Returns the names of a caller in the log: the id of its key, or its scheme and subject. */
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
 * Checks that every stored key has quotas. An edit of the contract may have removed its plan.
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
