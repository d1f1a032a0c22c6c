// Whoever holds a valid key, with what its plan allows.

import type { Quotas, RateLimits } from '../contract/types.js'
import type { ClientKey } from '../database/api-keys.js'

/** A caller with a valid key. */
export interface Client {
  readonly keyId: string
  readonly plan: string
  readonly quotas: Quotas
  readonly expiresAt: Date | undefined
}

/**
 * The client of a stored key.
 * @throws {Error} when the contract has no such plan any more, or leaves its quotas to the key and it has none:
 *   nobody can say what this key allows, and no guess would be right
 */
export function toClient(key: ClientKey, plans: RateLimits['plans']): Client {
  const fixed = plans.get(key.plan)
  const { perMinute, perDay } = key
  const agreed = perMinute === null || perDay === null ? undefined : { perMinute, perDay }
  const quotas = fixed === 'custom' ? agreed : fixed
  if (quotas === undefined)
    throw new Error(`key ${key.id} has the plan ${key.plan}, which gives it no quotas`)
  return { keyId: String(key.id), plan: key.plan, quotas, expiresAt: key.expiresAt ?? undefined }
}
