// Security requirements: which of them the server can check. One that it cannot check is never treated as
// met, and never offered: an implemented operation may declare only the scheme of API keys.

import type { Contract, Operation } from './contract.js'
import type { Node } from './reader.js'

/** The Security Requirement Objects of an operation: its own or, if it has none, the document's. */
export function effectiveSecurity(document: Node, operation: Node): Node[] {
  return (operation.security ?? document.security ?? []) as Node[]
}

/** Whether an operation also serves requests without credentials. */
export function isPublic({ security }: Pick<Operation, 'security'>): boolean {
  return security.length === 0 || security.some((names) => names.length === 0)
}

/**
 * The name of the security scheme that API keys meet: the only HTTP bearer scheme that operations use or, of
 * several, the only one in the document's own `security`. Undefined if there is none, or if nothing tells
 * them apart: a key has no mark of a scheme.
 */
export function keySchemeOf(
  operations: Iterable<Pick<Operation, 'security'>>,
  documentSecurity: Operation['security'],
  schemes: Contract['securitySchemes'],
): string | undefined {
  const bearerIn = (security: Operation['security']) =>
    new Set(security.flat().filter((name) => kindOf(schemes.get(name)) === bearer))
  const used = bearerIn([...operations].flatMap(({ security }) => security))
  const [name, ...others] = used.size === 1 ? used : bearerIn(documentSecurity)
  return others.length === 0 ? name : undefined
}

/**
 * A message if an operation declares a scheme, even as an alternative, that the server cannot check;
 * otherwise undefined.
 */
export function unsupportedSecurity(
  { id, security }: Operation,
  { securitySchemes, keyScheme }: Contract,
): string | undefined {
  const isUnchecked = (name: string) => name !== keyScheme
  const names = [...new Set(security.flat().filter(isUnchecked))]
  if (names.length === 0) return undefined
  const schemes = names.map((name) => {
    const kind = kindOf(securitySchemes.get(name)) ?? 'not declared'
    const key = keyScheme ?? "none that the document's security names"
    return `${name} (${kind}${kind === bearer ? `, but API keys are for ${key}` : ''})`
  })
  const verb = security.every((alternative) => alternative.some(isUnchecked)) ? 'requires' : 'accepts'
  return `${id} ${verb} ${schemes.join(', ')}, which the server cannot check`
}

const bearer = 'http bearer'

function kindOf(scheme: { readonly type: string; readonly scheme?: string } | undefined): string | undefined {
  return scheme && `${scheme.type} ${scheme.scheme?.toLowerCase() ?? ''}`.trim()
}
