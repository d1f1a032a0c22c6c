// When a request starts: not while the event loop still reads.

import type { FastifyInstance } from 'fastify'
import { afterReading } from '../lib/after-reading.js'

/**
 * Defers each request to the next iteration of the event loop. Node emits a request before it has read the
 * rest of the packet: an early response would close the connection of a request that has arrived completely,
 * or precede a second one, for a malformed body. And libuv reads on while more than a thousand sockets are
 * readable: peers that send again at once would keep it there for seconds.
 */
export function deferRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, _reply, done) => afterReading(done))
}
