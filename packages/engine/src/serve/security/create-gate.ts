// Creates the gate of an operation: where the credentials of its schemes are, which checks judge them, and
// how a request without credentials is refused.

import type { Contract, Operation, Requirement } from '../../document/contract.js'
import {
  areSentAlike,
  credentialPlace,
  credentialUsage,
  isPublic,
  isSamePlace,
} from '../../document/security.js'
import { challengeOf } from './challenges.js'
import type { AnyCheck, Caller, Check, Credential } from './check.js'
import { type IsForeign, isCookie, isGuarded } from './cookie-guard.js'
import { credentialReader } from './credentials.js'
import type { Alternative, Gate, Guard, Step } from './gate.js'
import { crossSite, insufficientScope, missingCredentials } from './refusals.js'

/**
 * Creates the gate of some alternatives. It leaves out an alternative with a scheme that has no check,
 * because no request can meet it.
 * @param operation the operation whose requests pass the gate, if the gate is for a single one
 */
export function gateOf<C extends Caller>(
  security: Operation['security'],
  contract: Contract,
  checks: ReadonlyMap<string, AnyCheck<C>>,
  operation?: Operation,
  isForeign?: IsForeign,
): Gate<C> {
  const names = new Set(security.flat().map((each) => each.name))
  const steps = [...names].flatMap((name) => stepOf(name, security.flat(), contract, checks))
  const rivalsOf = (step: Unrivalled<C>) =>
    steps.filter((other) => other !== step && isSamePlace(step.place, other.place))
  const byName = new Map(
    steps.map((each, index) => [each.scheme, { ...each, index, rivals: rivalsOf(each) }]),
  )
  const alternatives = security
    .filter((each) => each.length > 0 && each.every(({ name }) => byName.has(name)))
    .map((each) => alternativeOf(each, byName))
    .map((each) => ({ ...each, guard: guardOf(each, operation, isForeign) }))
  return {
    steps: [...byName.values()],
    alternatives,
    isPublic: isPublic({ security }),
    missing: missingCredentials(alternatives),
    contract,
  }
}

type Unrivalled<C extends Caller> = Omit<Step<C>, 'index' | 'rivals'>

function stepOf<C extends Caller>(
  name: string,
  requirements: readonly Requirement[],
  contract: Contract,
  checks: ReadonlyMap<string, AnyCheck<C>>,
): Unrivalled<C>[] {
  const [scheme, check] = [contract.securitySchemes.get(name), checks.get(name)]
  const place = credentialPlace(scheme)
  if (scheme === undefined || check === undefined || place === undefined) return []
  const scopes = requirements.filter((each) => each.name === name).flatMap((each) => each.scopes)
  return [
    {
      scheme: name,
      check: check as unknown as Check<C, Credential>, // the reader returns what the scheme describes
      scopes: [...new Set(scopes)],
      place,
      hasRivals: [...checks.keys()].some((other) => other !== name && areSentAlike(other, name, contract)),
      read: credentialReader(place),
      challenge: challengeOf(scheme, place, contract.title),
      usage: credentialUsage(scheme),
    },
  ]
}

function alternativeOf<C extends Caller>(
  requirements: readonly Requirement[],
  steps: ReadonlyMap<string, Step<C>>,
): Omit<Alternative<C>, 'guard'> {
  const needs = requirements.map(({ name, scopes }) => ({ step: steps.get(name) as Step<C>, scopes }))
  return { needs, insufficient: insufficientScope(needs) }
}

// A cookie is guarded even if the alternative requires a header as well. A header that pages cannot set makes
// the browser ask before it sends the request, and a header that browsers set themselves, such as Basic's,
// protects no better than a cookie.
function guardOf<C extends Caller>(
  { needs }: Pick<Alternative<C>, 'needs'>,
  operation: Operation | undefined,
  isForeign: IsForeign | undefined,
): Guard | undefined {
  if (operation === undefined || isForeign === undefined || !isGuarded(operation)) return undefined
  if (!needs.some(({ step }) => isCookie(step.place))) return undefined
  return { isForeign, refusal: operation.security.length === 0 ? undefined : crossSite(needs) }
}
