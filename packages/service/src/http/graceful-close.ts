// Closing the server: each response is the last of its connection, and those that wait for none are closed.
// Without the announcement before it (SHUTDOWN_DELAY_MS), each deployment behind a balancer would fail
// requests.

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
 * Makes `close` finish in spite of keep-alive: once closing, every response has `Connection: close`, and a
 * connection without a request is closed. Added behind all that `close` must do first: Fastify stops
 * listening after the last hook, and what is not accepted by then is reset.
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
