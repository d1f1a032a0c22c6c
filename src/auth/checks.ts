// The checks of the contract's security schemes, each made from the service's parts by what `schemes.ts` lists.

import type { Logger } from 'pino'
import type { Config } from '../config.js'
import type { Pools } from '../database/database.js'
import type { LoadShedder } from '../middleware/load-shedding.js'
import type { AnyCheck } from '../openapi/index.js'
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

/** Makes the check of a scheme. */
export type CheckFactory = (parts: CheckParts) => AnyCheck<Client>

/** The checks of the schemes in a list. */
export function createChecks(
  schemes: Readonly<Record<string, CheckFactory>>,
  parts: Omit<CheckParts, 'scheme'>,
): Readonly<Record<string, AnyCheck<Client>>> {
  return Object.fromEntries(
    Object.entries(schemes).map(([scheme, make]) => [scheme, make({ ...parts, scheme })]),
  )
}
