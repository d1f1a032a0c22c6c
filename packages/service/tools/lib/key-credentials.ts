// How callers send the service's own keys: as the contract declares the schemes that src/schemes.ts checks by
// apiKeys().

import { type Contract, credentialPair } from 'contract-engine'
import { credentialPlace } from 'contract-engine/tools'
import { isOfKeys, type Listed } from './schemes.js'

/** What a request has of a key. */
export interface KeyCredentials {
  readonly headers: Readonly<Record<string, string>>
  /** Behind the `?` of a URL; empty if no scheme is sent there. */
  readonly query: string
}

/**
 * A key as each of those schemes is sent: any may be that of an operation. A bearer token without any.
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
