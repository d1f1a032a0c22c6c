// The services that handlers use besides the database: a mailer, a clock, the client of another API,
// webhooks. The process creates them once, before the server listens; a handler gets them as `services` in
// its context.

import type { ServiceParts } from 'contract-service'

/** Makes the services. If it rejects, the service does not start. */
export async function createServices(_parts: ServiceParts) {
  return {
    // mailer: createMailer(process.env.MAIL_URL),
    // ...createOutgoing<Webhooks, Callbacks>(parts.contract), // node_modules/contract-engine/webhooks.md

    /** Called when the service stops, after the last response and before the database is closed. */
    async close(): Promise<void> {},
  }
}

export type Services = Awaited<ReturnType<typeof createServices>>
