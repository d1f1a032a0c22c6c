// The scopes that a caller may have or has, and roles, as OpenAPI 3.1 calls those of schemes without OAuth.

import type { Contract } from 'contract-engine'

/** All that operations demand and OAuth flows declare, in alphabetical order. */
export function scopesOf({
  operations,
  securitySchemes,
}: Pick<Contract, 'operations' | 'securitySchemes'>): string[] {
  const demanded = [...operations.values()].flatMap(({ security }) => security.flat())
  const declared = [...securitySchemes.values()].flatMap(({ flows }) => declaredBy(flows))
  return [...new Set([...demanded.flatMap(({ scopes }) => scopes), ...declared])].sort()
}

// What an author has left out of a flow is no reason to fail.
function declaredBy(flows: object = {}): string[] {
  return Object.values(flows).flatMap((flow) => Object.keys(Object(Object(flow).scopes)))
}

/** Scopes as a credential may have them: the words of a text, and of each text of a list. */
export function wordsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '')
  const { [Symbol.iterator]: iterate } = Object(value) as Partial<Iterable<unknown>>
  return iterate === undefined ? [] : [...(value as Iterable<unknown>)].flatMap(wordsIn)
}
