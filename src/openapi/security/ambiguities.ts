// Schemes that one credential would meet: what an operation says of one would hold for the other, too.

import type { Contract, Operation } from '../contract/contract.js'
import type { Problem } from '../contract/contract-error.js'
import { credentialPlace, isSamePlace, kindOf, requirementPlace } from '../contract/security.js'
import type { AnyCheck, Caller } from './check.js'

/**
 * A problem for each two schemes of operations whose credentials are sent in the same place, and that their
 * checks do not tell apart; and for two that an operation requires together there, which nothing can meet.
 */
export function ambiguities(
  operations: readonly Operation[],
  { securitySchemes }: Pick<Contract, 'securitySchemes'>,
  checks: ReadonlyMap<string, Pick<AnyCheck<Caller>, 'recognizes'>>,
): Problem[] {
  const areSent = (one: string, other: string) => {
    const [place, otherPlace] = [one, other].map((name) => credentialPlace(securitySchemes.get(name)))
    return place !== undefined && otherPlace !== undefined && isSamePlace(place, otherPlace)
  }
  const shown = (name: string) => `${name} (${kindOf(securitySchemes.get(name))})`
  const seen = new Map<string, Operation>()
  const problems: Problem[] = []
  for (const operation of operations) {
    const names = operation.security.flat().map(({ name }) => name)
    for (const name of new Set(names)) {
      if (seen.has(name) || !checks.has(name)) continue
      const other = [...seen.keys()].find((each) => areSent(each, name) && !areApart(each, name, checks))
      seen.set(name, operation)
      if (other === undefined) continue
      const text = `${operation.id} names ${shown(name)}, which a credential for ${shown(other)} would meet, too`
      problems.push({ text, at: requirementPlace(operation, name) })
    }
    for (const [name, other] of operation.security.flatMap((all) =>
      togetherIn(all.map((each) => each.name)),
    )) {
      if (!areSent(name, other)) continue
      const text = `${operation.id} requires ${shown(name)} and ${shown(other)}, which are sent in the same place`
      problems.push({ text, at: requirementPlace(operation, other) })
    }
  }
  return problems
}

function areApart(
  one: string,
  other: string,
  checks: ReadonlyMap<string, Pick<AnyCheck<Caller>, 'recognizes'>>,
): boolean {
  const [recognizes, others] = [checks.get(one)?.recognizes, checks.get(other)?.recognizes]
  return recognizes !== undefined && others !== undefined && recognizes !== others
}

function togetherIn(names: readonly string[]): [string, string][] {
  return names.flatMap((name, i) => names.slice(i + 1).map((other): [string, string] => [name, other]))
}
