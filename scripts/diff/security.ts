// Security schemes, and the security requirements of operations.

import { type Bump, type Comparison, claimBoth, report, type Spot } from './comparison.js'
import { eachKey, eachName, isNode, type Node, nodesOf, type Pair } from './node.js'
import { child, same } from './references.js'

const schemeKeywords = ['type', 'scheme', 'in', 'name', 'openIdConnectUrl']

/** Reports changes of security schemes. */
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

// OAuth 2.0: the URLs and scopes of each flow. Descriptions of scopes are documentation.
function compareFlows(comparison: Comparison, spot: Spot, scheme: Pair): void {
  const reportFlow = (bump: Bump, what: string) => report(comparison, spot, bump, what, scheme, 'flows')
  eachName(flowsOf(scheme.before), flowsOf(scheme.after), {
    removed: (part) => reportFlow('major', `${part} removed`),
    added: (part) => reportFlow('minor', `${part} added`),
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

/** Reports changed security requirements of an operation: breaking, unless the credentials of every client still suffice. */
export function compareSecurity(comparison: Comparison, spot: Spot, operation: Pair): void {
  const names = renamedSchemes(comparison)
  const before = alternativesOf(comparison.before, operation.before, names)
  const after = alternativesOf(comparison.after, operation.after)
  const [was, is] = [describe(before), describe(after)]
  if (was === is) return
  const bump = before.every((alternative) => suffices(alternative, after)) ? 'minor' : 'major'
  report(comparison, spot, bump, `security ${was} -> ${is}`, operation, 'security')
  // Operations inherit the document's requirements.
  claimBoth(comparison, comparison, 'security')
}

// The new names of schemes that were only renamed. The name is not sent.
function renamedSchemes(comparison: Comparison): ReadonlyMap<string, string> {
  const schemes = schemesOf(comparison)
  const names = new Map<string, string>()
  eachKey(schemes, {
    removed: (name) => {
      const renamed = Object.keys(schemes.after).find(
        (other) =>
          !(other in schemes.before) &&
          same(comparison, schemes.before[name], schemes.after[other]) &&
          ![...names.values()].includes(other),
      )
      if (renamed !== undefined) names.set(name, renamed)
    },
  })
  return names
}

// Each alternative as a list of schemes (`apiKey`) and scopes (`apiKey:write`).
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

function suffices(credentials: readonly string[], alternatives: readonly (readonly string[])[]): boolean {
  return alternatives.some((required) => required.every((one) => credentials.includes(one)))
}

function describe(alternatives: readonly (readonly string[])[]): string {
  return alternatives
    .map((required) => required.join(' and ') || 'none')
    .sort()
    .join(' or ')
}
