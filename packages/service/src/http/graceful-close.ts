// Closes the server gracefully: each response is the last of its connection, and connections without a
// request close. Without this, and the announcement before it (SHUTDOWN_DELAY_MS), each deployment behind a
// load balancer would fail requests.

import type { FastifyInstance } from 'fastify'
import { acceptAll, closeWithoutRequest, watchConnections } from './connections.js'
import type { Lifetimes } from './lifetime.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Starts draining before `close`: `/readyz` responds 503, and every response closes its connection. */
    announceClose(): void
  }
}

/**
 * Makes `close` finish in spite of keep-alive: while closing, every response has `Connection: close`, and
 * connections without a request are closed. Add it after all other `preClose` hooks: Fastify stops listening
 * after the last one, and the kernel then resets connections that are not accepted.
 */
export function addGracefulClose(app: FastifyInstance, lifetimes: Lifetimes): void {
  const open = watchConnections(app.server)
  app.decorate('announceClose', () => lifetimes.close())
  let sweep: ReturnType<typeof closeWithoutRequest> | undefined
  app.addHook('preClose', async () => {
    lifetimes.close()
    sweep = closeWithoutRequest(open)
    await acceptAll(app.server)
  })
  app.addHook('onClose', async () => sweep?.stop())
}
