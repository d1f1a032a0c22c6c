// Sends a service key as the contract declares it, for each scheme that src/schemes.ts checks by apiKeys().

import { type Contract, credentialPair } from 'contract-engine'
import { credentialPlace } from 'contract-engine/tools'
import { isOfKeys, type Listed } from './schemes.js'

/** The parts of a request that carry a key. */
export interface KeyCredentials {
  readonly headers: Readonly<Record<string, string>>
  /** The text behind the `?` of a URL; empty if no scheme is sent there. */
  readonly query: string
}

/**
 * Returns a key in the places of all those schemes, because an operation may use any of them. Without such a
 * scheme, returns a bearer token.
 * @param listed the project's list, if it has one
 */
export function keyCredentials(
  key: string,
  listed: Listed | undefined,
  { securitySchemes }: Pick<Contract, 'securitySchemes'>,
): KeyCredentials {
  const names = [...(listed ?? [])].filter(([, check]) => isOfKeys(check)).map(([name]) => name)
  const schemes = names.length > 0 ? names.map((name) => securitySchemes.get(name)) : [undefined]
  const pairsIn = (...places: readonly string[]) =>
    schemes
      .filter((scheme) => places.includes(credentialPlace(scheme)?.in ?? 'authorization'))
      .map((scheme) => [...credentialPair(scheme, key)] as [name: string, value: string])
  const cookies = pairsIn('cookie').map((pair) => pair.join('='))
  return {
    headers: {
      ...Object.fromEntries(pairsIn('header', 'authorization')),
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
    },
    query: String(new URLSearchParams(pairsIn('query'))),
  }
}
