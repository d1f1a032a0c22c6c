// The checks of the contract's security schemes, each made from the service's parts by what `schemes.ts`
// lists.

import type { Check, Checks } from 'contract-engine'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import type { Pools } from '../database/database.js'
import { OperatorError } from '../lib/operator-error.js'
import type { LoadShedder } from '../middleware/load-shedding.js'
import type { Client } from './client.js'
import type { ServiceContract } from './plans.js'

/** What the check of a scheme is made from. */
export interface CheckParts {
  /** The name of the scheme in the contract. */
  readonly scheme: string
  readonly contract: ServiceContract
  readonly config: Config
  readonly pools: Pools
  /** Bounds look-ups of credentials that are not known. */
  readonly loadShedder: LoadShedder
  readonly log: Logger
}

/**
 * Makes the check of a scheme. `Sent` is what a request carries for it: of `http basic`, name and password.
 */
export type CheckFactory<Sent = string> = (parts: CheckParts) => Check<Client, Sent>

/** Makes a check of any scheme; it may load what it needs first. */
export type AnyCheckFactory = (parts: CheckParts) => Check<Client, never> | Promise<Check<Client, never>>

/**
 * A list of checks: one for each scheme that an operation with a handler names, for what requests carry.
 * @param Operations, Schemes, Handlers the generated types, and that of the generated map of handlers
 */
export type SchemesOf<
  Operations extends { readonly [Id in keyof Operations]: { readonly security: PropertyKey } },
  Schemes,
  Handlers,
> = {
  readonly [Name in keyof Checks<Operations, Schemes, Handlers, Client>]: (
    parts: CheckParts,
  ) => Ready<NonNullable<Checks<Operations, Schemes, Handlers, Client>[Name]>>
}

type Ready<Value> = Value | Promise<Value>

/**
 * The checks of the schemes in a list. While only stubs name a scheme, as in a contract that was just
 * adopted, one that lacks a setting is left out with a warning.
 * @param isNeeded whether an operation with a handler names a scheme
 * @throws {OperatorError} when a check that is needed lacks a setting
 */
export async function createChecks(
  schemes: Readonly<Record<string, AnyCheckFactory>>,
  parts: Omit<CheckParts, 'scheme'>,
  isNeeded: (scheme: string) => boolean,
): Promise<Readonly<Record<string, Check<Client, never>>>> {
  const checks: [scheme: string, check: Check<Client, never>][] = []
  for (const [scheme, make] of Object.entries(schemes))
    try {
      checks.push([scheme, await make({ ...parts, scheme })])
    } catch (error) {
      if (!(error instanceof OperatorError) || isNeeded(scheme)) throw error
      parts.log.warn({ scheme, reason: error.message }, 'security scheme without its check')
    }
  return Object.fromEntries(checks)
}
