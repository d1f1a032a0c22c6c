// Closing the server: which responses are the last of their connections, and which connections wait for none.

import type { FastifyInstance } from 'fastify'
import { acceptAll, closeWithoutRequest, mustClose, watchConnections } from './connections.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Starts draining before `close`: `/readyz` responds 503, and every response closes its connection. */
    announceClose(): void
  }
}

/**
 * Makes `close` finish in spite of keep-alive: once closing, every response has `Connection: close`, and a
 * connection without a request is closed. A response also has it if it is sent before its whole request has
 * arrived. Added behind all that `close` must do first: Fastify stops listening after the last hook, and what
 * is not accepted by then is reset. Returns a function that reports whether the server is closing.
 */
export function addGracefulClose(app: FastifyInstance): () => boolean {
  const open = watchConnections(app.server)
  let closing = false
  app.decorate('announceClose', () => {
    closing = true
  })
  let sweep: ReturnType<typeof closeWithoutRequest> | undefined
  app.addHook('preClose', async () => {
    closing = true
    sweep = closeWithoutRequest(open)
    await acceptAll(app.server)
  })
  app.addHook('onClose', async () => sweep?.stop())
  app.addHook('onSend', (request, reply, payload, done) => {
    if (mustClose(request.raw) || closing) reply.header('Connection', 'close')
    done(null, payload)
  })
  return () => closing
}
