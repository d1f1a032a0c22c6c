// Security requirements: which of them the server can check. A requirement it cannot check is never treated as met.

import type { Contract, Operation } from './types.js'

/** The kinds of security scheme the server checks. */
export type SecurityKind = 'http bearer'

const kinds: readonly string[] = ['http bearer'] satisfies SecurityKind[]

/** The alternatives the server can check, each the kinds of scheme that must all pass; empty if it can check none. */
export function supportedRequirements(
  { security }: Pick<Operation, 'security'>,
  { securitySchemes }: Pick<Contract, 'securitySchemes'>,
): SecurityKind[][] {
  if (security.length === 0) return [[]] // public
  const alternatives = security.map((names) => names.map((name) => kindOf(securitySchemes.get(name))))
  return alternatives.filter((each): each is SecurityKind[] =>
    each.every((kind) => kind !== undefined && kinds.includes(kind)),
  )
}

/** A message if the server can check none of an operation's requirements; undefined if it can check one. */
export function unsupportedSecurity(operation: Operation, contract: Contract): string | undefined {
  if (supportedRequirements(operation, contract).length > 0) return undefined
  const names = [...new Set(operation.security.flat())]
  const schemes = names.map(
    (name) => `${name} (${kindOf(contract.securitySchemes.get(name)) ?? 'not declared'})`,
  )
  return `${operation.id} requires ${schemes.join(', ')}, which the server cannot check`
}

function kindOf(scheme: { readonly type: string; readonly scheme?: string } | undefined): string | undefined {
  return scheme && `${scheme.type} ${scheme.scheme ?? ''}`.trim().toLowerCase()
}
