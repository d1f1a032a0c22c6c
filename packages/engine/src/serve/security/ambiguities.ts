// Finds pairs of security schemes that the same credential would meet: it would get the rights of the other
// scheme, too.

import type { Contract, Operation } from '../../document/contract.js'
import type { Problem } from '../../document/contract-error.js'
import { areSentAlike, requirementPlace, schemeKind } from '../../document/security.js'
import type { AnyCheck, Caller } from './check.js'

type Schemes = Pick<Contract, 'securitySchemes'>
type Forms = ReadonlyMap<string, Pick<AnyCheck<Caller>, 'recognizes'>>

/**
 * Returns a problem for each two schemes whose credentials are sent in the same place, unless their checks
 * tell them apart. Returns another for each two schemes that an operation requires together in the same
 * place, since no request can meet both.
 */
export function ambiguities(operations: readonly Operation[], schemes: Schemes, checks: Forms): Problem[] {
  return [
    ...mistakable(operations, schemes, checks),
    ...operations.flatMap((each) => inseparable(each, schemes)),
  ]
}

function mistakable(operations: readonly Operation[], schemes: Schemes, checks: Forms): Problem[] {
  const naming = new Map<string, Operation>()
  for (const operation of operations)
    for (const { name } of operation.security.flat())
      if (checks.has(name) && !naming.has(name)) naming.set(name, operation)
  const names = [...naming.keys()]
  return [...naming].flatMap(([name, operation], i) => {
    const earlier = names.slice(0, i)
    const other = earlier.find((each) => areSentAlike(each, name, schemes) && !areApart(each, name, checks))
    if (other === undefined) return []
    const [one, two] = [name, other].map((each) => shown(each, schemes))
    const text = `${operation.id} names ${one}, which a credential for ${two} would meet, too`
    return [{ text, at: requirementPlace(operation, name) }]
  })
}

function inseparable(operation: Operation, schemes: Schemes): Problem[] {
  const pairs = operation.security.flatMap((all) => pairsOf(all.map(({ name }) => name)))
  return pairs
    .filter(([name, other]) => areSentAlike(name, other, schemes))
    .map(([name, other]) => {
      const [one, two] = [name, other].map((each) => shown(each, schemes))
      const text = `${operation.id} requires ${one} and ${two}, which are sent in the same place`
      return { text, at: requirementPlace(operation, other) }
    })
}

function areApart(one: string, other: string, checks: Forms): boolean {
  const [recognizes, others] = [checks.get(one)?.recognizes, checks.get(other)?.recognizes]
  return recognizes !== undefined && others !== undefined && recognizes !== others
}

function shown(name: string, { securitySchemes }: Schemes): string {
  return `${name} (${schemeKind(securitySchemes.get(name))})`
}

function pairsOf(names: readonly string[]): [string, string][] {
  return names.flatMap((name, i) => names.slice(i + 1).map((other): [string, string] => [name, other]))
}
