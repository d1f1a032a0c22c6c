// The scopes of callers. OpenAPI 3.1 calls the scopes of schemes without OAuth roles.

import type { Contract } from 'contract-engine'

/** Returns all scopes that operations demand or OAuth flows declare, in alphabetical order. */
export function scopesOf({
  operations,
  securitySchemes,
}: Pick<Contract, 'operations' | 'securitySchemes'>): string[] {
  const demanded = [...operations.values()].flatMap(({ security }) => security.flat())
  const declared = [...securitySchemes.values()].flatMap(({ flows }) => declaredBy(flows))
  return [...new Set([...demanded.flatMap(({ scopes }) => scopes), ...declared])].sort()
}

// Accepts flows without scopes.
function declaredBy(flows: object = {}): string[] {
  return Object.values(flows).flatMap((flow) => Object.keys(Object(Object(flow).scopes)))
}

/** Reads scopes in the forms of credentials: the words of a text, and of each text of a list. */
export function wordsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '')
  const { [Symbol.iterator]: iterate } = Object(value) as Partial<Iterable<unknown>>
  return iterate === undefined ? [] : [...(value as Iterable<unknown>)].flatMap(wordsIn)
}
