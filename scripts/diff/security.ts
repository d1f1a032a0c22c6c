// Security schemes, and the security requirements of operations.

import { effectiveSecurity } from '../../src/openapi/tools.js'
import { type Bump, report, type Spot } from './comparison.js'
import { eachKey, eachName, isNode, type Node } from './node.js'
import type { OperationPairs } from './operation-pairs.js'
import { child, partOf, same } from './references.js'
import { compareOpaque } from './rules.js'

/** Reports changes of the security schemes that operations use. */
export function compareSecuritySchemes(root: Spot, { kept }: OperationPairs): void {
  const schemes = schemesOf(root)
  const used = new Set(
    kept.flatMap(({ was }) => effectiveSecurity(root.before, was.node).flatMap(Object.keys)),
  )
  eachKey(schemes, {
    kept: (name) => {
      if (!used.has(name)) return
      const scheme = child(schemes, name, `securitySchemes.${name}`)
      compareOpaque(scheme, ['type', 'scheme', 'in', 'name', 'openIdConnectUrl'])
      compareFlows(scheme)
    },
  })
}

function schemesOf(root: Spot): Spot {
  return child(partOf(root, 'components'), 'securitySchemes')
}

// OAuth 2.0: the URLs and scopes of each flow. Descriptions of scopes are documentation.
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

/** Reports changed security requirements: breaking, unless the credentials of every client still suffice. */
export function compareSecurity(operation: Spot): void {
  const root = { ...operation, ...operation.comparison.documents }
  const before = alternativesOf(root.before, operation.before, renamedSchemes(schemesOf(root)))
  const after = alternativesOf(root.after, operation.after)
  const [was, is] = [alternativesText(before), alternativesText(after)]
  if (was === is) return
  const bump = before.every((alternative) => suffices(alternative, after)) ? 'minor' : 'major'
  report(operation, bump, `security ${was} -> ${is}`, 'security')
}

// The new names of schemes that were only renamed. The name is not sent.
function renamedSchemes({ comparison, before, after }: Spot): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const added = new Set(Object.keys(after).filter((name) => !(name in before)))
  for (const name of Object.keys(before).filter((name) => !(name in after))) {
    const renamed = [...added].find((other) => same(comparison, before[name], after[other]))
    if (renamed === undefined) continue
    names.set(name, renamed)
    added.delete(renamed)
  }
  return names
}

// Each alternative as a list of schemes (`apiKey`) and scopes (`apiKey:write`).
function alternativesOf(document: Node, operation: Node, names?: ReadonlyMap<string, string>): string[][] {
  const alternatives = effectiveSecurity(document, operation)
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

function alternativesText(alternatives: readonly (readonly string[])[]): string {
  return alternatives
    .map((required) => required.join(' and ') || 'none')
    .sort()
    .join(' or ')
}
