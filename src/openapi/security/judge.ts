// Judges a request by the plan of its operation (OpenAPI 3.1.1, section 4.8.30): the first alternative whose
// schemes are all met, with their scopes. A check is asked only when its turn comes, and once.

import type { FastifyRequest } from 'fastify'
import { RequestError, statusOf } from '../errors.js'
import type { Caller, Credential } from './check.js'
import { malformed } from './credentials.js'
import type { Alternative, Plan, Step } from './plan.js'
import { invalidCredential, invalidCredentials } from './refusals.js'

/** What is known of who sent a request. */
export interface Verdict<C extends Caller = Caller> {
  /**
   * The caller of the first scheme of the alternative that was met or, if `refusal` is a 403, of one that
   * lacks scopes: a quota counts it, too.
   */
  readonly caller: C | undefined
  /** Of all schemes of the alternative that was met, by their names. */
  readonly callers: Readonly<Record<string, C>>
  /** The 401, 403 or 503 of a request that meets no alternative. */
  readonly refusal: RequestError | undefined
}

/** What a check made of a request: null without a credential. */
type Outcome<C> = C | RequestError | null
type Outcomes<C extends Caller> = Map<Step<C>, Outcome<C>>

/**
 * The verdict on a request: at once, unless a check has to wait.
 * @throws what a check throws beside RequestErrors: a fault, which is nobody's refusal
 */
export function judge<C extends Caller>(
  plan: Plan<C>,
  request: FastifyRequest,
  outcomes: Outcomes<C> = new Map(),
): Verdict<C> | Promise<Verdict<C>> {
  for (const alternative of plan.alternatives) {
    for (const { step } of alternative.needs) {
      const known = outcomes.get(step)
      const outcome = known === undefined ? ask(step, request) : known
      if (isPromise(outcome))
        return outcome.then((settled) => judge(plan, request, outcomes.set(step, settled)))
      outcomes.set(step, outcome)
      if (!isCaller(outcome)) break
    }
    if (isMet(alternative, outcomes)) return metBy(alternative, outcomes)
  }
  return refused(plan, outcomes)
}

// The outcome of a scheme's own check.
function ask<C extends Caller>(step: Step<C>, request: FastifyRequest): Outcome<C> | Promise<Outcome<C>> {
  const { check, scheme, scopes } = step
  const credential = step.read(request)
  if (credential === undefined) return null
  if (credential === malformed) return invalidCredential(step)
  if (step.rivals.length > 0 && check.recognizes?.(credential) === false)
    return isOfRival(step, request) ? null : invalidCredential(step)
  try {
    const caller = check.caller(credential, { request, scheme, scopes })
    if (!isPromise(caller)) return caller ?? invalidCredential(step)
    return caller.then((found) => found ?? invalidCredential(step), asRefusal)
  } catch (error) {
    return asRefusal(error)
  }
}

// A credential of no form at all is invalid, and not another scheme's.
function isOfRival<C extends Caller>({ rivals }: Step<C>, request: FastifyRequest): boolean {
  return rivals.some(({ check, read }) => {
    const credential = read(request)
    return isCredential(credential) && check.recognizes?.(credential) !== false
  })
}

function isCredential(found: ReturnType<Step<Caller>['read']>): found is Credential {
  return found !== undefined && found !== malformed
}

function asRefusal(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  throw error
}

// Not only Node's own: one that was taken for a caller would let the request pass.
function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

function isCaller<C extends Caller>(outcome: Outcome<C> | undefined): outcome is C {
  return outcome !== undefined && outcome !== null && !(outcome instanceof RequestError)
}

function isKnown<C extends Caller>({ needs }: Alternative<C>, outcomes: Outcomes<C>): boolean {
  return needs.every(({ step }) => isCaller(outcomes.get(step)))
}

function isMet<C extends Caller>({ needs }: Alternative<C>, outcomes: Outcomes<C>): boolean {
  return needs.every(({ step, scopes }) => {
    const outcome = outcomes.get(step)
    return isCaller(outcome) && scopes.every((scope) => outcome.scopes.has(scope))
  })
}

function metBy<C extends Caller>({ needs }: Alternative<C>, outcomes: Outcomes<C>): Verdict<C> {
  const callers = Object.fromEntries(needs.map(({ step }) => [step.scheme, outcomes.get(step) as C]))
  const [first] = needs
  return { caller: first && callers[first.step.scheme], callers, refusal: undefined }
}

// A check that cannot tell now may be the one that would let the request pass: its 503 goes first.
function refused<C extends Caller>(plan: Plan<C>, outcomes: Outcomes<C>): Verdict<C> {
  if (plan.isPublic) return anonymous
  const errors = [...outcomes.values()].filter((each) => each instanceof RequestError)
  const unable = errors.find((each) => statusOf(each, plan.contract) >= 500)
  if (unable !== undefined) return { ...anonymous, refusal: unable }
  const lacking = plan.alternatives.find((each) => isKnown(each, outcomes))
  if (lacking !== undefined) {
    const [{ step } = {}] = lacking.needs
    return { caller: step && (outcomes.get(step) as C), callers: {}, refusal: lacking.insufficient }
  }
  const other = errors.find((each) => statusOf(each, plan.contract) !== 401)
  const [invalid] = errors
  if (other !== undefined || invalid === undefined) return { ...anonymous, refusal: other ?? plan.missing }
  const refusalOf = (step: Step<C>) => errors.find((each) => each === outcomes.get(step))
  return { ...anonymous, refusal: invalidCredentials(plan, invalid, refusalOf) }
}

const anonymous = { caller: undefined, callers: {}, refusal: undefined }
