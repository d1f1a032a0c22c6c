// What an operation asks of its callers, and whether the server can find out. A requirement that nothing here checks
// is never taken for met.

import type { Contract, Operation } from './types.js'

/** The kinds of security scheme that the server checks. */
export type SecurityKind = 'http bearer'

const kinds: readonly string[] = ['http bearer'] satisfies SecurityKind[]

/** The ways in: of each, the kinds of check that must all pass. None where no one can be let in. */
export function waysIn(
  { security }: Pick<Operation, 'security'>,
  { securitySchemes }: Pick<Contract, 'securitySchemes'>,
): SecurityKind[][] {
  if (security.length === 0) return [[]] // public
  const alternatives = security.map((names) => names.map((name) => kindOf(securitySchemes.get(name))))
  return alternatives.filter((each): each is SecurityKind[] =>
    each.every((kind) => kind !== undefined && kinds.includes(kind)),
  )
}

/** The requirements of an operation that no one can meet, in words; undefined where someone can. */
export function unmetSecurity(operation: Operation, contract: Contract): string | undefined {
  if (waysIn(operation, contract).length > 0) return undefined
  const names = [...new Set(operation.security.flat())]
  const schemes = names.map(
    (name) => `${name} (${kindOf(contract.securitySchemes.get(name)) ?? 'not declared'})`,
  )
  return `${operation.id} asks for ${schemes.join(', ')}, which the server cannot check`
}

function kindOf(scheme: { readonly type: string; readonly scheme?: string } | undefined): string | undefined {
  return scheme && `${scheme.type} ${scheme.scheme ?? ''}`.trim().toLowerCase()
}
