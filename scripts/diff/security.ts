// Who may call: the alternatives an operation takes, and the schemes they name.

import { type Comparison, claimBoth, report, type Spot } from './comparison.js'
import { eachKey, type Node, nodesOf, type Pair } from './node.js'
import { child, same } from './references.js'

const schemeKeywords = ['type', 'scheme', 'in', 'name', 'flows', 'openIdConnectUrl']

/** Reports schemes that are used in another way than before. */
export function compareSecuritySchemes(comparison: Comparison): void {
  const schemes = child(comparison, child(comparison, comparison, 'components'), 'securitySchemes')
  eachKey(schemes, {
    kept: (name) => {
      const scheme = child(comparison, schemes, name)
      const spot = { place: 'components', where: `securitySchemes.${name}` }
      for (const keyword of schemeKeywords) {
        if (same(comparison, scheme.before[keyword], scheme.after[keyword])) continue
        report(comparison, spot, 'major', `${keyword} changed`, scheme, keyword)
      }
    },
  })
}

/** Reports an operation that asks for something else than before. Breaking, unless all who came still may. */
export function compareSecurity(comparison: Comparison, spot: Spot, operation: Pair): void {
  const before = alternativesOf(comparison.before, operation.before)
  const after = alternativesOf(comparison.after, operation.after)
  const [was, is] = [inWords(before), inWords(after)]
  if (was === is) return
  const bump = before.every((alternative) => isEnough(alternative, after)) ? 'minor' : 'major'
  report(comparison, spot, bump, `security ${was} -> ${is}`, operation, 'security')
  // The document's own is what an operation falls back to.
  claimBoth(comparison, comparison, 'security')
}

// Each alternative as the things that it takes: a scheme, or a scheme's scope.
function alternativesOf(document: Node, operation: Node): string[][] {
  const alternatives = nodesOf(operation.security ?? document.security)
  if (alternatives.length === 0) return [[]]
  return alternatives.map((schemes) =>
    Object.entries(schemes)
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
