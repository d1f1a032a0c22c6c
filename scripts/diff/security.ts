// Who may call: the alternatives an operation takes, and the schemes they name.

import { type Bump, type Comparison, claimBoth, report, type Spot } from './comparison.js'
import { eachKey, eachName, isNode, type Node, nodesOf, type Pair } from './node.js'
import { child, same } from './references.js'

const schemeKeywords = ['type', 'scheme', 'in', 'name', 'openIdConnectUrl']

/** Reports schemes that are used in another way than before. */
export function compareSecuritySchemes(comparison: Comparison): void {
  const schemes = schemesOf(comparison)
  eachKey(schemes, {
    kept: (name) => {
      const scheme = child(comparison, schemes, name)
      const spot = { place: 'components', where: `securitySchemes.${name}` }
      for (const keyword of schemeKeywords) {
        if (same(comparison, scheme.before[keyword], scheme.after[keyword])) continue
        report(comparison, spot, 'major', `${keyword} changed`, scheme, keyword)
      }
      compareFlows(comparison, spot, scheme)
    },
  })
}

function schemesOf(comparison: Comparison): Pair {
  return child(comparison, child(comparison, comparison, 'components'), 'securitySchemes')
}

// OAuth 2.0: the addresses and the scopes of each flow. What a scope is for is said to people.
function compareFlows(comparison: Comparison, spot: Spot, scheme: Pair): void {
  const reportFlow = (bump: Bump, what: string) => report(comparison, spot, bump, what, scheme, 'flows')
  eachName(flowsOf(scheme.before), flowsOf(scheme.after), {
    removed: (fact) => reportFlow('major', `${fact} removed`),
    added: (fact) => reportFlow('minor', `${fact} added`),
  })
}

function flowsOf({ flows }: Node): string[] {
  return Object.entries(isNode(flows) ? flows : {}).flatMap(([name, flow]) => {
    const { scopes, ...urls } = isNode(flow) ? flow : {}
    const names = Object.keys(isNode(scopes) ? scopes : {})
    return [
      ...Object.entries(urls).map(([key, url]) => `flow ${name} ${key} ${url}`),
      ...names.map((scope) => `flow ${name} scope ${scope}`),
    ]
  })
}

/** Reports an operation that asks for something else than before. Breaking, unless all who came still may. */
export function compareSecurity(comparison: Comparison, spot: Spot, operation: Pair): void {
  const names = renamedSchemes(comparison)
  const before = alternativesOf(comparison.before, operation.before, names)
  const after = alternativesOf(comparison.after, operation.after)
  const [was, is] = [inWords(before), inWords(after)]
  if (was === is) return
  const bump = before.every((alternative) => isEnough(alternative, after)) ? 'minor' : 'major'
  report(comparison, spot, bump, `security ${was} -> ${is}`, operation, 'security')
  // The document's own is what an operation falls back to.
  claimBoth(comparison, comparison, 'security')
}

// The name after of a scheme that has another one, and is otherwise what it was. It does not reach the wire.
function renamedSchemes(comparison: Comparison): ReadonlyMap<string, string> {
  const schemes = schemesOf(comparison)
  const names = new Map<string, string>()
  eachKey(schemes, {
    removed: (name) => {
      const heirs = Object.keys(schemes.after).filter(
        (heir) => !(heir in schemes.before) && same(comparison, schemes.before[name], schemes.after[heir]),
      )
      const heir = heirs.find((one) => ![...names.values()].includes(one))
      if (heir !== undefined) names.set(name, heir)
    },
  })
  return names
}

// Each alternative as the things that it takes: a scheme, or a scheme's scope.
function alternativesOf(document: Node, operation: Node, names?: ReadonlyMap<string, string>): string[][] {
  const alternatives = nodesOf(operation.security ?? document.security)
  if (alternatives.length === 0) return [[]]
  return alternatives.map((schemes) =>
    Object.entries(schemes)
      .map(([name, scopes]) => [names?.get(name) ?? name, scopes] as const)
      .flatMap(([name, scopes]) => [name, ...[scopes].flat().map((scope) => `${name}:${scope}`)])
      .sort(),
  )
}

function isEnough(held: readonly string[], alternatives: readonly (readonly string[])[]): boolean {
  return alternatives.some((asked) => asked.every((thing) => held.includes(thing)))
}

function inWords(alternatives: readonly (readonly string[])[]): string {
  return alternatives
    .map((things) => things.join(' and ') || 'none')
    .sort()
    .join(' or ')
}
