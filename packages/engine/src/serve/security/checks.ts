// The checks that the compiler asks an application for, by the types that `contract-engine generate` writes.

import type { Stub } from '../../document/stubs.js'
import type { Caller, Check } from './check.js'

/** What is generated of each operation, as far as security is concerned. */
type Secured<Operations> = { readonly [Id in keyof Operations]: { readonly security: PropertyKey } }

/** The names of the schemes that operations with a handler name: those of stubs may wait. */
export type NeededSchemes<Operations extends Secured<Operations>, Handlers> = {
  [Id in keyof Operations]: Id extends keyof Handlers
    ? Handlers[Id] extends Stub
      ? never
      : Operations[Id]['security']
    : Operations[Id]['security']
}[keyof Operations]

/**
 * A check of each scheme that operations with a handler name, for its kind of credential; one of another
 * scheme may be there.
 * @param Schemes the generated `SecuritySchemes`
 */
export type Checks<Operations extends Secured<Operations>, Schemes, Handlers, C extends Caller = Caller> = {
  readonly [Name in keyof Schemes]?: Check<C, Schemes[Name]>
} & {
  readonly [Name in NeededSchemes<Operations, Handlers> & PropertyKey]: Name extends keyof Schemes
    ? Check<C, Schemes[Name]>
    : never
}
