// The checks that the TypeScript compiler demands of an application, by the types that `contract-engine
// generate` writes.

import type { Stub } from '../../document/stubs.js'
import type { Caller, Check } from './check.js'

/** The part of the generated type of each operation that concerns security. */
type Secured<Operations> = { readonly [Id in keyof Operations]: { readonly security: PropertyKey } }

/** The names of the schemes of operations with a handler. An operation with a stub needs no check yet. */
export type NeededSchemes<Operations extends Secured<Operations>, Handlers> = {
  [Id in keyof Operations]: Id extends keyof Handlers
    ? Handlers[Id] extends Stub
      ? never
      : Operations[Id]['security']
    : Operations[Id]['security']
}[keyof Operations]

/**
 * A check for each scheme of an operation with a handler, with the scheme's kind of credential. Checks of
 * other schemes are allowed.
 * @param Schemes the generated `SecuritySchemes`
 */
export type Checks<Operations extends Secured<Operations>, Schemes, Handlers, C extends Caller = Caller> = {
  readonly [Name in keyof Schemes]?: Check<C, Schemes[Name]>
} & {
  readonly [Name in NeededSchemes<Operations, Handlers> & PropertyKey]: Name extends keyof Schemes
    ? Check<C, Schemes[Name]>
    : never
}
