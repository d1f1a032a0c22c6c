// Plans of x-rate-limits by kind: with fixed quotas, or with custom quotas per key.

import type { Contract, Quotas } from './contract.js'

/** A plan with the same quotas for all of its keys. */
export interface FixedPlan extends Quotas {
  readonly name: string
}

/** The plans with fixed quotas, in the contract's order. */
export function fixedPlans({ rateLimits: { plans } }: Contract): readonly FixedPlan[] {
  return [...plans].flatMap(([name, quotas]) => (quotas === 'custom' ? [] : [{ name, ...quotas }]))
}

/** The name of the first plan whose quotas are set per key. */
export function customPlan({ rateLimits: { plans } }: Contract): string | undefined {
  return [...plans].find(([, quotas]) => quotas === 'custom')?.[0]
}
