// Judges a request by the gate of its operation (OpenAPI 3.1.1, section 4.8.30). The first alternative counts
// whose schemes are all met, with their scopes. Each check is asked at most once, and only when its turn
// comes.

import type { FastifyRequest } from 'fastify'
import { RequestError } from '../../document/request-error.js'
import { statusOf } from '../request/errors.js'
import { judgedAs, judgedBy } from '../request/request-parts.js'
import type { Caller, Credential, Verdict } from './check.js'
import { malformed } from './credentials.js'
import type { Alternative, Gate, Step } from './gate.js'
import { invalidCredential, invalidCredentials } from './refusals.js'

/** The result of a check for a request: null without a credential, and undefined until the check is asked. */
type Outcome<C> = C | RequestError | null
type Outcomes<C> = (Outcome<C> | undefined)[]

/**
 * Returns the verdict on a request and notes it on the request; a promise only if a check has to wait.
 * @param outcomes the results of the checks that were asked, by the index of their step
 * @throws any error of a check that is no RequestError: it is a fault, and refuses nobody
 */
export function judge<C extends Caller>(
  gate: Gate<C>,
  request: FastifyRequest,
  outcomes: Outcomes<C> = [],
): Verdict<C> | Promise<Verdict<C>> {
  let foreign: Alternative<C> | undefined
  for (const alternative of gate.alternatives) {
    let areKnown = true
    for (const { step } of alternative.needs) {
      const { index } = step
      const outcome = outcomes[index] === undefined ? ask(step, request) : outcomes[index]
      if (isPromise(outcome))
        return outcome.then((settled) => judge(gate, request, withOne(outcomes, index, settled)))
      outcomes[index] = outcome
      areKnown = isCaller(outcome)
      if (!areKnown) break
    }
    if (!areKnown || !haveScopes(alternative, outcomes)) continue
    if (!alternative.guard?.isForeign(request)) return remember(gate, request, new Met(alternative, outcomes))
    foreign ??= alternative
  }
  return remember(gate, request, refused(gate, outcomes, foreign))
}

function remember<C extends Caller>(gate: Gate<C>, request: FastifyRequest, verdict: Verdict<C>): Verdict<C> {
  request[judgedBy] = gate
  request[judgedAs] = verdict
  return verdict
}

function withOne<C>(outcomes: Outcomes<C>, index: number, outcome: Outcome<C>): Outcomes<C> {
  outcomes[index] = outcome
  return outcomes
}

// Asks the check of a scheme.
function ask<C extends Caller>(step: Step<C>, request: FastifyRequest): Outcome<C> | Promise<Outcome<C>> {
  const { check, scheme, scopes } = step
  const credential = step.read(request)
  if (credential === undefined) return null
  if (credential === malformed) return invalidCredential(step)
  if (step.hasRivals && check.recognizes?.(credential) === false)
    return isOfRival(step, request) ? null : invalidCredential(step)
  try {
    const caller = check.caller(credential, { request, scheme, scopes })
    // `||`, because a check in JavaScript may return false.
    if (!isPromise(caller)) return caller || invalidCredential(step)
    return caller.then((found) => found || invalidCredential(step), asRefusal)
  } catch (error) {
    return asRefusal(error)
  }
}

// A credential that no check recognizes is invalid, and is not left to another scheme.
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

// Recognizes any thenable: if one were taken for a caller, the request would pass.
function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

function isCaller<C extends Caller>(outcome: Outcome<C> | undefined): outcome is C {
  return outcome !== undefined && outcome !== null && !(outcome instanceof RequestError)
}

function isKnown<C extends Caller>({ needs }: Alternative<C>, outcomes: Outcomes<C>): boolean {
  return needs.every(({ step }) => isCaller(outcomes[step.index]))
}

// Call it only if all callers of the alternative are known.
function haveScopes<C extends Caller>({ needs }: Alternative<C>, outcomes: Outcomes<C>): boolean {
  for (const { step, scopes } of needs)
    for (const scope of scopes) if (!(outcomes[step.index] as C).scopes.has(scope)) return false
  return true
}

// A class with getters, because every request makes a verdict, and few ask for all callers.
class Met<C extends Caller> implements Verdict<C> {
  readonly refusal = undefined

  constructor(
    readonly alternative: Alternative<C>,
    readonly outcomes: Outcomes<C>,
  ) {}

  get caller(): C {
    return this.outcomes[this.alternative.needs[0]?.step.index ?? 0] as C
  }

  get callers(): Readonly<Record<string, C>> {
    const { needs } = this.alternative
    return Object.fromEntries(needs.map(({ step }) => [step.scheme, this.outcomes[step.index] as C]))
  }
}

// A 5xx goes first, because the check that cannot tell now might have let the request pass. This holds even
// if the operation needs no credential: its response may depend on the caller, who must not be taken for
// nobody.
function refused<C extends Caller>(
  gate: Gate<C>,
  outcomes: Outcomes<C>,
  foreign: Alternative<C> | undefined,
): Verdict<C> {
  const errors = outcomes.filter((each) => each instanceof RequestError)
  const unable = errors.find((each) => statusOf(each, gate.contract) >= 500)
  if (unable !== undefined) return { ...anonymous, refusal: unable }
  if (foreign?.guard?.refusal !== undefined) return known(foreign, outcomes, foreign.guard.refusal)
  if (gate.isPublic) return anonymous
  const lacking = gate.alternatives.find((each) => isKnown(each, outcomes))
  if (lacking !== undefined) return known(lacking, outcomes, lacking.insufficient)
  const other = errors.find((each) => statusOf(each, gate.contract) !== 401)
  const [invalid] = errors
  if (other !== undefined || invalid === undefined) return { ...anonymous, refusal: other ?? gate.missing }
  const refusalOf = (step: Step<C>) => errors.find((each) => each === outcomes[step.index])
  return { ...anonymous, refusal: invalidCredentials(gate, invalid, refusalOf) }
}

// Returns a verdict whose caller is counted by a quota, but is seen by no handler.
function known<C extends Caller>(
  alternative: Alternative<C>,
  outcomes: Outcomes<C>,
  refusal: RequestError,
): Verdict<C> {
  const { caller } = new Met(alternative, outcomes)
  return { caller, callers: {}, refusal }
}

const anonymous = { caller: undefined, callers: {}, refusal: undefined }
