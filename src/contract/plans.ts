// The plans of x-rate-limits by their kind, whatever they are called.

import type { Contract, Quotas } from './types.js'

/** A plan that fixes the quotas of its keys. */
export interface FixedPlan extends Quotas {
  readonly name: string
}

/** Those plans, in their order. */
export function fixedPlans({ rateLimits: { plans } }: Contract): readonly FixedPlan[] {
  return [...plans].flatMap(([name, quotas]) => (quotas === 'custom' ? [] : [{ name, ...quotas }]))
}

/** The first plan whose quotas are agreed per key. */
export function customPlan({ rateLimits: { plans } }: Contract): string | undefined {
  return [...plans].find(([, quotas]) => quotas === 'custom')?.[0]
}
