// The plans of the contract, and what it allows without one: `x-rate-limits`, which only this service reads.

import { type Contract, type ExtensionReader, readContract } from '../openapi/index.js'

/** Request quotas per minute and per day. */
export interface Quotas {
  readonly perMinute: number
  readonly perDay: number
}

/** Rate limits (`x-rate-limits`). */
export interface RateLimits {
  /** Quotas by plan; `custom` if each key has its own. */
  readonly plans: ReadonlyMap<string, Quotas | 'custom'>
  /** Clients without a valid key, per IP address. */
  readonly anonymous: { readonly perMinute: number }
  /**
   * A key with more than `rejections` rejected requests within `withinSeconds` is banned for `banSeconds`. Of
   * those of a second one counts.
   */
  readonly ban: { readonly rejections: number; readonly withinSeconds: number; readonly banSeconds: number }
}

/** The contract as this service reads it. */
export interface ServiceContract extends Contract {
  /** Whether the document has `x-rate-limits`. */
  readonly hasRateLimits: boolean
  readonly rateLimits: RateLimits
}

/** What of the document only this service reads. */
export const serviceExtensions = { 'x-rate-limits': readRateLimits }

/**
 * Reads and checks the contract of the service.
 * @param readText replaces reading files from disk
 * @throws {ContractError} with every problem, one per line: `openapi.yaml:12:7: message`
 */
export async function readServiceContract(
  file: string,
  readText?: (file: string) => Promise<string>,
): Promise<ServiceContract> {
  const contract = await readContract(file, readText, serviceExtensions)
  const rateLimits = contract.extensions['x-rate-limits']
  return { ...contract, hasRateLimits: rateLimits !== undefined, rateLimits: rateLimits ?? unlimited }
}

// Without `x-rate-limits`.
const unlimited: RateLimits = {
  plans: new Map([['unlimited', { perMinute: Number.POSITIVE_INFINITY, perDay: Number.POSITIVE_INFINITY }]]),
  anonymous: { perMinute: Number.POSITIVE_INFINITY },
  ban: { rejections: Number.POSITIVE_INFINITY, withinSeconds: 1, banSeconds: 1 },
}

type Reader = Parameters<ExtensionReader>[1]

function readRateLimits(value: unknown, reader: Reader): RateLimits {
  const limits = reader.node(value)
  reader.allowOnly('x-rate-limits', limits, ['plans', 'anonymous', 'ban'])
  const anonymous = reader.positiveIntegers('x-rate-limits: anonymous', limits.anonymous, ['perMinute'])
  const names = ['rejections', 'withinSeconds', 'banSeconds'] as const
  const ban = reader.positiveIntegers('x-rate-limits: ban', limits.ban, names)
  if (ban.rejections >= ban.withinSeconds)
    reader.problem('x-rate-limits: ban: rejections must be below withinSeconds: one of a second counts')
  return { plans: readPlans(reader, limits.plans), anonymous, ban }
}

function readPlans(reader: Reader, value: unknown): RateLimits['plans'] {
  const plans = Object.entries(reader.node(value))
  for (const [name, plan] of plans) {
    if (plan !== 'custom')
      reader.positiveIntegers(`x-rate-limits: plan ${name}`, plan, ['perMinute', 'perDay'])
  }
  if (plans.length === 0) reader.problem('x-rate-limits: plans must name at least one plan')
  return new Map(plans) as Map<string, Quotas | 'custom'>
}

/** A plan with the same quotas for all of its keys. */
export interface FixedPlan extends Quotas {
  readonly name: string
}

/** The plans with fixed quotas, in the contract's order. */
export function fixedPlans({
  rateLimits: { plans },
}: Pick<ServiceContract, 'rateLimits'>): readonly FixedPlan[] {
  return [...plans].flatMap(([name, quotas]) => (quotas === 'custom' ? [] : [{ name, ...quotas }]))
}

/** The name of the first plan whose quotas are set per key. */
export function customPlan({
  rateLimits: { plans },
}: Pick<ServiceContract, 'rateLimits'>): string | undefined {
  return [...plans].find(([, quotas]) => quotas === 'custom')?.[0]
}
