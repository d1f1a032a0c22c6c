// When a request may start on its connection, and when its response is the connection's last.

import type { FastifyInstance } from 'fastify'
import { afterReading } from '../lib/after-reading.js'
import { closeAfterUpgrade, closeUnusedConnections, mustClose, watchConnections } from './connections.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Starts draining before `close`: `/readyz` responds 503, and every response closes its connection. */
    announceClose(): void
  }
}

/**
 * Defers each request to the next iteration of the event loop. Node emits a request before it has read the
 * rest of the packet: an early response would close the connection of a request that has arrived completely,
 * or precede a second one, for a malformed body. And libuv reads on while more than a thousand sockets are
 * readable: peers that send again at once would keep it there for seconds.
 */
export function deferRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) =>
    afterReading(() => {
      closeAfterUpgrade(request.raw)
      done()
    }),
  )
}

/**
 * Makes `close` finish in spite of keep-alive. Fastify closes the connections that are idle then, but not
 * those that become idle later: once closing, every response has `Connection: close`. So has one that is sent
 * before its whole request has arrived. Returns a function that reports whether the server is closing.
 */
export function addGracefulClose(app: FastifyInstance): () => boolean {
  const open = watchConnections(app.server)
  let closing = false
  app.decorate('announceClose', () => {
    closing = true
  })
  let unused: ReturnType<typeof closeUnusedConnections> | undefined
  app.addHook('preClose', async () => {
    closing = true
    unused = closeUnusedConnections(open)
  })
  app.addHook('onClose', async () => unused?.stop())
  app.addHook('onSend', (request, reply, payload, done) => {
    if (mustClose(request.raw) || closing) reply.header('Connection', 'close')
    done(null, payload)
  })
  return () => closing
}
