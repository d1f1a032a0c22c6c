// Reads `x-rate-limits` and `x-rate-cost`: the plans of the contract, the limits of callers without a plan,
// and the cost of requests. Only this service reads them.

import { isDeepStrictEqual } from 'node:util'
import { type Contract, ContractError, isPublic, loadContract, type Operation } from 'contract-engine'
import type { ExtensionReader, OperationExtensionReader, ReadContract } from 'contract-engine/compile'

/** Request quotas per minute and per day. */
export interface Quotas {
  readonly perMinute: number
  readonly perDay: number
}

/** The plan of a scheme's callers. */
export interface SchemePlan {
  readonly plan: string
  /** The claim of a credential that names another plan. */
  readonly claim?: string
}

/** Rate limits (`x-rate-limits`). */
export interface RateLimits {
  /** Quotas by plan; `custom` if each key has its own. */
  readonly plans: ReadonlyMap<string, Quotas | 'custom'>
  /** By name of a security scheme: the plan of callers whose credential does not name one. */
  readonly schemes: ReadonlyMap<string, SchemePlan>
  /** Clients without a valid key, per IP address. */
  readonly anonymous: { readonly perMinute: number }
  /**
   * A key with more than `rejections` rejected requests within `withinSeconds` is banned for `banSeconds`.
   * The rejections of one second count as one.
   */
  readonly ban: { readonly rejections: number; readonly withinSeconds: number; readonly banSeconds: number }
}

/** The contract as this service reads it. */
export interface ServiceContract extends Contract {
  /** True if the document has `x-rate-limits`. */
  readonly hasRateLimits: boolean
  readonly rateLimits: RateLimits
}

/** The extensions of the document that only this service reads. */
export const serviceExtensions = { 'x-rate-limits': readRateLimits }

/** The extensions of operations that only this service reads. */
export const operationExtensions = { 'x-rate-cost': readRateCost }

/**
 * Reads and checks the contract of the service.
 * @param readText replaces reading files from disk
 * @throws {ContractError} with every problem, one per line: `openapi.yaml:12:7: message`
 */
export async function readServiceContract(
  file: string,
  readText?: (file: string) => Promise<string>,
): Promise<ServiceContract & ReadContract> {
  const { readContract } = await import('contract-engine/compile') // a server loads a plan
  return withRateLimits(await readContract(file, readText, serviceExtensions, operationExtensions))
}

/**
 * Loads the contract of the service from its plan: see `loadContract`.
 * @throws {ContractError} if the plan is of another contract, or of another version of the engine
 */
export async function loadServiceContract(
  plan: Uint8Array,
  file: string,
  options?: Parameters<typeof loadContract>[2],
): Promise<ServiceContract> {
  return withRateLimits(await loadContract<typeof serviceExtensions>(plan, file, options))
}

function withRateLimits<Read extends Contract>(
  contract: Read & { readonly extensions: { readonly 'x-rate-limits'?: RateLimits } },
): Read & ServiceContract {
  const rateLimits = contract.extensions['x-rate-limits']
  if (rateLimits === undefined && 'x-rate-limits' in contract.document)
    throw new ContractError(
      'x-rate-limits: the plan was made without them: make it by commands/compile.js of contract-service',
    )
  return { ...contract, hasRateLimits: rateLimits !== undefined, rateLimits: rateLimits ?? unlimited }
}

// The quotas of a contract without `x-rate-limits`.
export const unlimitedQuotas: Quotas = {
  perMinute: Number.POSITIVE_INFINITY,
  perDay: Number.POSITIVE_INFINITY,
}
const unlimited: RateLimits = {
  plans: new Map([['unlimited', unlimitedQuotas]]),
  schemes: new Map(),
  anonymous: { perMinute: Number.POSITIVE_INFINITY },
  ban: { rejections: Number.POSITIVE_INFINITY, withinSeconds: 1, banSeconds: 1 },
}

type Reader = Parameters<ExtensionReader>[1]

function readRateLimits(value: unknown, reader: Reader): RateLimits {
  const limits = reader.node(value)
  reader.allowOnly('x-rate-limits', limits, ['plans', 'schemes', 'anonymous', 'ban'])
  const anonymous = reader.positiveIntegers('x-rate-limits: anonymous', limits.anonymous, ['perMinute'])
  const names = ['rejections', 'withinSeconds', 'banSeconds'] as const
  const ban = reader.positiveIntegers('x-rate-limits: ban', limits.ban, names)
  if (ban.rejections >= ban.withinSeconds)
    reader.problem('x-rate-limits: ban: rejections must be below withinSeconds: one of a second counts')
  const plans = readPlans(reader, limits.plans)
  return { plans, schemes: readSchemes(reader, limits.schemes, plans), anonymous, ban }
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

function readSchemes(reader: Reader, value: unknown, plans: RateLimits['plans']): RateLimits['schemes'] {
  const schemes = Object.keys(reader.node(value)).map((name) => {
    const at = ['x-rate-limits', 'schemes', name]
    const entry = reader.node(reader.node(value)[name]) as unknown as SchemePlan
    reader.within(at, () => checkScheme(reader, name, entry, plans))
    return [name, entry] as const
  })
  return new Map(schemes)
}

function checkScheme(reader: Reader, name: string, entry: SchemePlan, plans: RateLimits['plans']): void {
  const place = `x-rate-limits: scheme ${name}`
  const { plan, claim } = entry as { readonly plan?: unknown; readonly claim?: unknown }
  if (reader.node(reader.components.securitySchemes)[name] === undefined)
    reader.problem(`${place}: components.securitySchemes has no such scheme`)
  const quotas = plans.get(plan as string)
  if (quotas === undefined) reader.problem(`${place}: plan must be one of ${[...plans.keys()].join(', ')}`)
  if (quotas === 'custom') reader.problem(`${place}: the plan ${plan} has no quotas: they are set per key`)
  if (claim !== undefined && (typeof claim !== 'string' || claim === ''))
    reader.problem(`${place}: claim must be the name of a claim`)
  reader.allowOnly(place, { ...entry }, ['plan', 'claim'])
}

/** Returns the number of requests that one request of an operation counts as (`x-rate-cost`). */
export function rateCost(operation: Operation | undefined): number {
  return (operation?.extensions['x-rate-cost'] as number | undefined) ?? 1 // readRateCost returns it
}

/** Returns the highest cost of any operation. */
export function rateCostMax({ operations }: Pick<Contract, 'operations'>): number {
  return Math.max(1, ...[...operations.values()].map(rateCost))
}

function readRateCost(
  ...[value, reader, operation, extensions]: Parameters<OperationExtensionReader>
): number {
  const place = `${operation.method} ${operation.path}: x-rate-cost`
  const isCost = Number.isSafeInteger(value) && (value as number) > 0
  const cost = isCost ? (value as number) : 1
  const limits = extensions['x-rate-limits'] as RateLimits | undefined
  if (!isCost) reader.problem(`${place} must be an integer above 0`)
  else if (limits === undefined) reader.warn(`${place} has no effect without x-rate-limits`)
  else for (const text of tooCostly(cost, operation, limits)) reader.problem(`${place} ${cost} ${text}`)
  return cost
}

// Finds plans whose quota is below the cost: they would refuse each request, however long its caller waits.
function tooCostly(cost: number, operation: Operation, { plans, anonymous }: RateLimits): string[] {
  const fixed = [...plans].flatMap(([name, quotas]) => (quotas === 'custom' ? [] : [[name, quotas] as const]))
  const ofPlans = fixed.flatMap(([name, { perMinute, perDay }]) => {
    if (cost > perMinute) return [`exceeds the ${perMinute} requests per minute of the plan ${name}`]
    return cost > perDay ? [`exceeds the ${perDay} requests per day of the plan ${name}`] : []
  })
  const isOfAddresses = isPublic(operation) && cost > anonymous.perMinute
  const text = `exceeds the ${anonymous.perMinute} requests per minute of callers without a valid key`
  return isOfAddresses ? [...ofPlans, text] : ofPlans
}

/**
 * Returns the contract whose limits apply to addresses and bans: the first with `x-rate-limits`, otherwise
 * the first.
 * @throws {ContractError} if another contract has other limits: the service counts an address once for all
 * contracts
 */
export function countedBy(contracts: readonly ServiceContract[]): ServiceContract {
  const [counted = contracts[0] as ServiceContract, ...others] = contracts.filter(
    (each) => each.hasRateLimits,
  )
  const numbers = ({ rateLimits: { anonymous, ban } }: ServiceContract) => ({ anonymous, ban })
  const other = others.find((each) => !isDeepStrictEqual(numbers(each), numbers(counted)))
  if (other === undefined) return counted
  const [own, first] = [other, counted].map(({ title, version }) => `${title} ${version}`)
  const text = `x-rate-limits: anonymous and ban of ${own} must be those of ${first}: each caller is counted once`
  throw new ContractError([{ text, at: ['x-rate-limits'] }])
}

type Limits = Pick<ServiceContract, 'hasRateLimits' | 'rateLimits'>

/** A plan with its quotas. */
export interface GrantedPlan {
  readonly plan: string
  readonly quotas: Quotas
}

/**
 * Returns the plan of a caller whose credential is no API key: the plan that it claims, if the contract gives
 * that one quotas, otherwise the plan of its scheme.
 * @param claims the facts of the credential
 */
export function planOfCaller(
  { hasRateLimits, rateLimits: { plans, schemes } }: Limits,
  scheme: string,
  claims: Readonly<Record<string, unknown>>,
): GrantedPlan {
  if (!hasRateLimits) return { plan: 'unlimited', quotas: unlimitedQuotas }
  const { plan, claim } = schemes.get(scheme) ?? {}
  const names = [claim === undefined ? undefined : claims[claim], plan]
  for (const name of names) {
    const quotas = plans.get(name as string)
    if (quotas !== undefined && quotas !== 'custom') return { plan: name as string, quotas }
  }
  throw new Error(`x-rate-limits: schemes: ${scheme} has no plan`) // startup has refused it
}

/**
 * Refuses a contract that gives no plan to the callers of a scheme. Unlike API keys, their credentials have
 * none.
 * @param scheme a scheme with a check
 * @throws {ContractError}
 */
export function requirePlan(
  { hasRateLimits, rateLimits, securitySchemes }: Limits & Pick<Contract, 'securitySchemes'>,
  scheme: string,
): void {
  if (!hasRateLimits || rateLimits.schemes.has(scheme) || !securitySchemes.has(scheme)) return
  const advice = `add schemes: { ${scheme}: { plan: … } }`
  const text = `x-rate-limits: callers of the scheme ${scheme} have no plan: ${advice}`
  throw new ContractError([{ text, at: ['x-rate-limits'] }])
}

/** A plan with the same quotas for all of its keys. */
export interface FixedPlan extends Quotas {
  readonly name: string
}

/** Returns the plans with fixed quotas, in the contract's order. */
export function fixedPlans({
  rateLimits: { plans },
}: Pick<ServiceContract, 'rateLimits'>): readonly FixedPlan[] {
  return [...plans].flatMap(([name, quotas]) => (quotas === 'custom' ? [] : [{ name, ...quotas }]))
}

/** Returns the name of the first plan whose quotas are set per key. */
export function customPlan({
  rateLimits: { plans },
}: Pick<ServiceContract, 'rateLimits'>): string | undefined {
  return [...plans].find(([, quotas]) => quotas === 'custom')?.[0]
}
