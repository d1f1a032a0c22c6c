// Compares security schemes, and the security requirements of operations.

import { effectiveSecurity } from 'contract-engine/tools'
import { type Bump, report, type Spot } from './comparison.js'
import { eachName, isNode, type Node } from './node.js'
import type { OperationPairs } from './operation-pairs.js'
import { child, inside, partOf, resolve } from './references.js'
import { compareOpaque } from './rules.js'

/** Reports changes of the security schemes that operations use. */
export function compareSecuritySchemes(root: Spot, { kept }: OperationPairs): void {
  const used = new Set(
    kept.flatMap(({ was }) => effectiveSecurity(root.before, was.node).flatMap(Object.keys)),
  )
  for (const [name, scheme] of schemePairs(root)) {
    if (!used.has(name)) continue
    compareOpaque(scheme, ['type', 'scheme', 'in', 'name', 'openIdConnectUrl'])
    compareFlows(scheme)
  }
}

/**
 * Returns the schemes that both documents have, by their names in the first document. Names are not sent, so
 * a renamed scheme counts as the same.
 */
export function schemePairs(root: Spot): ReadonlyMap<string, Spot> {
  const { before, after } = schemesOf(root)
  const renamed = renamedSchemes(root)
  const names = Object.keys(before).map((name) => [name, renamed.get(name) ?? name] as const)
  return new Map(
    names
      .filter(([, is]) => is in after)
      .map(([was, is]) => [was, inside(schemesOf(root), before[was], after[is], `securitySchemes.${is}`)]),
  )
}

function schemesOf(root: Spot): Spot {
  return child(partOf(root, 'components'), 'securitySchemes')
}

// Returns the new names of schemes that were only renamed.
function renamedSchemes(root: Spot): ReadonlyMap<string, string> {
  const { comparison, before, after } = schemesOf(root)
  const { documents } = comparison
  const names = new Map<string, string>()
  const meanings = (document: Node, schemes: Node, others: Node) =>
    Object.keys(schemes)
      .filter((name) => !(name in others))
      .map((name) => [name, meaningOf(resolve(comparison, document, schemes[name]))] as const)
  const added = new Map(meanings(documents.after, after, before))
  for (const [name, meaning] of meanings(documents.before, before, after)) {
    const [other] = [...added].find(([, each]) => each === meaning) ?? []
    if (other === undefined) continue
    names.set(name, other)
    added.delete(other)
  }
  return names
}

// Returns all facts about a scheme that a client needs to meet it.
function meaningOf(scheme: Node): string {
  const { type, scheme: http, in: location, name, openIdConnectUrl } = scheme
  return JSON.stringify([type, http, location, name, openIdConnectUrl, ...flowsOf(scheme).sort()])
}

// Compares the URLs and scopes of each flow of OAuth 2.0. Descriptions of scopes are documentation.
function compareFlows(scheme: Spot): void {
  const reportFlow = (bump: Bump, what: string) => report(scheme, bump, what, 'flows')
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

/**
 * Reports changed security requirements. They are breaking unless the credentials of every client still
 * suffice.
 */
export function compareSecurity(operation: Spot): void {
  const root = { ...operation, ...operation.comparison.documents }
  const before = alternativesOf(root.before, operation.before, renamedSchemes(root))
  const after = alternativesOf(root.after, operation.after)
  const [was, is] = [alternativesText(before), alternativesText(after)]
  if (was === is) return
  const bump = before.every((alternative) => suffices(alternative, after)) ? 'minor' : 'major'
  report(operation, bump, `security ${was} -> ${is}`, 'security')
}

// Returns each alternative as a list of schemes (`apiKey`) and scopes (`apiKey:write`).
function alternativesOf(document: Node, operation: Node, names?: ReadonlyMap<string, string>): string[][] {
  const alternatives = effectiveSecurity(document, operation)
  if (alternatives.length === 0) return [[]]
  return alternatives.map((schemes) =>
    Object.entries(schemes)
      .map(([name, scopes]) => [names?.get(name) ?? name, scopes] as const)
      .flatMap(([name, scopes]) => [name, ...new Set([scopes].flat().map((scope) => `${name}:${scope}`))])
      .sort(),
  )
}

function suffices(credentials: readonly string[], alternatives: readonly (readonly string[])[]): boolean {
  return alternatives.some((required) => required.every((one) => credentials.includes(one)))
}

function alternativesText(alternatives: readonly (readonly string[])[]): string {
  return alternatives
    .map((required) => required.join(' and ') || 'none')
    .sort()
    .join(' or ')
}
