// What handlers use besides the database: a mailer, a clock, the client of another API, webhooks. A handler
// gets them as `services` in its context. They are made once, before the server listens.

import type { Contract } from 'contract-engine'
import type { Logger } from 'pino'
import type { Config } from './config.js'
import type { Pools } from './database/database.js'

/** What services are made of. */
export interface ServiceParts {
  /** The environment: a service's own variables are read there, too. */
  readonly config: Config
  readonly pools: Pools
  readonly log: Logger
  readonly contract: Contract
}

/** Makes the services. If it rejects, the service does not start. */
export async function createServices(_parts: ServiceParts) {
  return {
    // mailer: createMailer(parts.config.mailUrl),
    // ...createOutgoing<Webhooks, Callbacks>(parts.contract), // packages/engine/webhooks.md

    /** Runs when the service stops: after the last response, and before the database is closed. */
    async close(): Promise<void> {},
  }
}

export type Services = Awaited<ReturnType<typeof createServices>>
