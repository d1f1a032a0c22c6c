// Makes the checks of the contract's security schemes, by the factories that a team lists in `schemes.ts`.

import type { Check, Checks } from 'contract-engine'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import type { Pools } from '../database/database.js'
import { OperatorError } from '../lib/operator-error.js'
import type { LoadShedder } from '../middleware/load-shedding.js'
import type { Client } from './client.js'
import type { ServiceContract } from './plans.js'

/** The parts of the service that the factory of a check may use. */
export interface CheckParts {
  /** The name of the scheme in the contract. */
  readonly scheme: string
  readonly contract: ServiceContract
  readonly config: Config
  readonly pools: Pools
  /** Bounds the look-ups of unknown credentials. */
  readonly loadShedder: LoadShedder
  readonly log: Logger
}

/**
 * Makes the check of a scheme. `Sent` is the type of its credential: for `http basic`, name and password.
 */
export type CheckFactory<Sent = string> = (parts: CheckParts) => Check<Client, Sent>

/** Makes a check of any scheme; it may load what it needs first. */
export type AnyCheckFactory = (parts: CheckParts) => Check<Client, never> | Promise<Check<Client, never>>

/**
 * A list with a factory for each scheme that an operation with a handler names. Its type must fit the
 * credential.
 * @param Operations, Schemes, Handlers the generated types, and the type of the generated map of handlers
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
 * Makes the checks of the schemes in a list. If only stubs name a scheme, as in a newly adopted contract, a
 * check that lacks a setting is left out with a warning.
 * @param isNeeded tells whether an operation with a handler names a scheme
 * @throws {OperatorError} if a needed check lacks a setting
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
