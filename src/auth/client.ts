// The client of a valid key, with the quotas of its plan.

import { type ClientKey, countPlans } from '../database/api-keys.js'
import type { Sql } from '../database/database.js'
import { OperatorError } from '../lib/operator-error.js'
import { unavailable } from '../middleware/unavailable.js'
import type { Quotas, ServiceContract } from './plans.js'

/** A client with a valid key. */
export interface Client {
  readonly keyId: string
  readonly plan: string
  readonly quotas: Quotas
  readonly expiresAt: Date | undefined
}

/**
 * Converts a stored key to its client.
 * @throws {RequestError} `unavailable` if the contract lacks the plan, or a custom plan's key has no quotas
 */
export function toClient(key: ClientKey, limits: Limits): Client {
  const quotas = quotasOf(key, limits)
  if (quotas === undefined)
    throw unavailable(new Error(`key ${key.id} has the plan ${key.plan}, which gives it no quotas`))
  return { keyId: String(key.id), plan: key.plan, quotas, expiresAt: key.expiresAt ?? undefined }
}

type Limits = Pick<ServiceContract, 'hasRateLimits' | 'rateLimits'>

function quotasOf(
  { plan, perMinute, perDay }: Pick<ClientKey, 'plan' | 'perMinute' | 'perDay'>,
  { hasRateLimits, rateLimits }: Limits,
): Quotas | undefined {
  if (!hasRateLimits) return { perMinute: Number.POSITIVE_INFINITY, perDay: Number.POSITIVE_INFINITY }
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
