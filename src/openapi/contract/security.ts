// Security requirements: which of them the server can check. A requirement it cannot check is never treated as met.

import type { Contract, Operation } from './contract.js'

/** Whether an operation also serves requests without credentials. */
export function isPublic({ security }: Pick<Operation, 'security'>): boolean {
  return security.length === 0 || security.some((names) => names.length === 0)
}

/** Whether the server can check every scheme of a requirement: HTTP bearer is the only kind it knows. */
export function isCheckable(names: readonly string[], schemes: Contract['securitySchemes']): boolean {
  return names.every((name) => kindOf(schemes.get(name)) === 'http bearer')
}

/** A message if the server can check none of an operation's requirements; undefined if it can check one. */
export function unsupportedSecurity(
  { id, security }: Operation,
  { securitySchemes }: Contract,
): string | undefined {
  if (security.length === 0 || security.some((names) => isCheckable(names, securitySchemes))) return undefined
  const names = [...new Set(security.flat())]
  const schemes = names.map((name) => `${name} (${kindOf(securitySchemes.get(name)) ?? 'not declared'})`)
  return `${id} requires ${schemes.join(', ')}, which the server cannot check`
}

function kindOf(scheme: { readonly type: string; readonly scheme?: string } | undefined): string | undefined {
  return scheme && `${scheme.type} ${scheme.scheme ?? ''}`.trim().toLowerCase()
}
