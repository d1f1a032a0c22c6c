// Chooses checks for the security schemes of a contract that has no list of its own yet (src/schemes.ts).
// Schemes that are ambiguous are left to the team, with advice.

import type { Contract } from 'contract-engine'
import { areSentAlike, credentialPlace, effectiveSecurity, nodeOf, schemeKind } from 'contract-engine/tools'

type CheckName = 'apiKeys' | 'jwt'

/** The chosen checks of a contract, by the names of its schemes. */
export interface Choice {
  readonly checks: ReadonlyMap<string, CheckName>
  /** Advice for each other scheme that operations use, by its name. */
  readonly left: ReadonlyMap<string, string>
}

/** Chooses the checks of the schemes that operations use. */
export function chooseChecks(contract: Contract): Choice {
  const checks = new Map<string, CheckName>()
  const left = new Map<string, string>()
  for (const name of new Set(setsOf(contract).flat())) {
    const advice = adviceOn(name, contract)
    if (advice === undefined) checks.set(name, checkFor(name, contract) as CheckName)
    else left.set(name, `${schemeKind(contract.securitySchemes.get(name))}: ${advice}`)
  }
  return { checks, left }
}

// Lists, for every alternative of every operation, the schemes that a request must meet together.
function setsOf({ operations }: Contract): string[][] {
  const alternatives = [...operations.values()].flatMap(({ security }) => security)
  return alternatives.map((requirements) => requirements.map(({ name }) => name))
}

function checkFor(name: string, { securitySchemes }: Contract): CheckName | undefined {
  const scheme = securitySchemes.get(name)
  const place = credentialPlace(scheme)
  if (place?.in === 'header') return 'apiKeys'
  if (place?.in !== 'authorization' || place.name !== 'bearer') return undefined
  return scheme?.type !== 'http' || /^jwt$/i.test(scheme.bearerFormat ?? '') ? 'jwt' : 'apiKeys'
}

// Returns undefined for a scheme whose check is certain.
function adviceOn(name: string, contract: Contract): string | undefined {
  const place = credentialPlace(contract.securitySchemes.get(name))
  if (place === undefined) return 'the server cannot check it'
  if (place.in === 'authorization' && place.name === 'basic')
    return 'basic(verify), with a function that verifies a name and a password'
  const check = checkFor(name, contract)
  return check === undefined
    ? 'a check of your own'
    : (togetherWith(name, contract) ?? besides(name, contract))
}

// One credential cannot meet two schemes of the same request.
function togetherWith(name: string, contract: Contract): string | undefined {
  const others = likeOf(name, contract)
  const together = setsOf(contract).find(
    (names) => names.includes(name) && names.some((other) => others.has(other)),
  )
  if (together === undefined) return undefined
  return `a check of your own, because requests need it together with ${without(name, together).join(' and ')}`
}

// A credential does not show which of two schemes it is for. If only one of them is in the document's own
// security, the check is for that one.
function besides(name: string, contract: Contract): string | undefined {
  const rivals = [...likeOf(name, contract)].filter((other) => areSentAlike(name, other, contract))
  const own = new Set(effectiveSecurity(nodeOf(contract.document), {}).flatMap((each) => Object.keys(each)))
  if (rivals.length === 0 || (own.has(name) && !rivals.some((each) => own.has(each)))) return undefined
  const check = checkFor(name, contract)
  const text = `${check}() for one of it and ${rivals.join(', ')}: a credential would meet them all`
  const byToken =
    'jwt({ issuer }) if each has its own issuer, jwt({ type }) if the typ of their tokens differs, or '
  return `${text}; or for each ${check === 'jwt' ? byToken : ''}a check of your own that recognizes its credentials`
}

// Returns the other schemes that the same check fits.
function likeOf(name: string, contract: Contract): ReadonlySet<string> {
  const check = checkFor(name, contract)
  return new Set(
    without(name, setsOf(contract).flat()).filter((other) => checkFor(other, contract) === check),
  )
}

function without(name: string, names: readonly string[]): string[] {
  return names.filter((each) => each !== name)
}
