// Whoever holds a valid key, with what its plan allows.

import type { Contract, Quotas } from '../contract/types.js'
import { type ClientKey, countPlans } from '../database/api-keys.js'
import type { Sql } from '../database/types.js'
import { unavailable } from '../errors.js'
import { OperatorError } from '../operator-error.js'

/** A caller with a valid key. */
export interface Client {
  readonly keyId: string
  readonly plan: string
  readonly quotas: Quotas
  readonly expiresAt: Date | undefined
}

/**
 * The client of a stored key.
 * @throws {ApiError} `unavailable` when the contract has no such plan any more, or leaves its quotas to the key and it has none:
 *   nobody can say what this key allows, and no guess would be right
 */
export function toClient(key: ClientKey, limits: Limits): Client {
  const quotas = quotasOf(key, limits)
  if (quotas === undefined)
    throw unavailable(new Error(`key ${key.id} has the plan ${key.plan}, which gives it no quotas`))
  return { keyId: String(key.id), plan: key.plan, quotas, expiresAt: key.expiresAt ?? undefined }
}

type Limits = Pick<Contract, 'hasRateLimits' | 'rateLimits'>

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
 * Looks for keys that the contract gives no quotas.
 * @throws {OperatorError} naming their plans: an edit of the contract took them away, or their numbers
 */
export async function checkPlans(sql: Sql, limits: Limits): Promise<void> {
  const left = (await countPlans(sql)).filter((plan) => quotasOf(plan, limits) === undefined)
  if (left.length === 0) return
  const lines = left.map(({ plan, keys }) => `${plan} (${keys} ${keys === 1 ? 'key' : 'keys'})`)
  throw new OperatorError(
    `The contract's x-rate-limits give no quotas to keys of the plan ${lines.join(', ')}.
Put the plan back, or revoke its keys: npm run keys -- list, npm run keys -- revoke ID.`,
  )
}
