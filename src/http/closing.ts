// How connections end: as the server closes, and after requests that must be their last.

import type { FastifyInstance } from 'fastify'
import { afterReading } from '../lib/after-reading.js'
import { closeUnusedConnections, followsLastRequest, mustClose, watchConnections } from './connections.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** From now on `/readyz` says no, and every answer ends its connection: the server will close. */
    announceClose(): void
  }
}

/**
 * Begins with each request when it has been read as far as it has come; what comes after the last of a connection is dropped. Node hands a
 * request over before it reads on, and an answer before that would close a connection whose request has come whole, or run into another
 * answer, which tells that the body is broken. And the event loop comes round: libuv goes on reading while more than a thousand
 * connections have something to be read, and callers who are answered and ask again at once would keep it there for seconds.
 */
export function deferRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) =>
    afterReading(() => {
      if (followsLastRequest(request.raw)) reply.hijack()
      else done()
    }),
  )
}

/**
 * Fastify closes idle connections as it closes, but not those that turn idle afterwards: their last answer has
 * to end them, or a client's keep-alive would hold the stop up. So has one that comes before the whole request.
 * Gives whether the server is about to close.
 */
export function closeConnections(app: FastifyInstance): () => boolean {
  const open = watchConnections(app.server)
  let closing = false
  app.decorate('announceClose', () => {
    closing = true
  })
  let silent: ReturnType<typeof closeUnusedConnections> | undefined
  app.addHook('preClose', async () => {
    closing = true
    silent = closeUnusedConnections(open)
  })
  app.addHook('onClose', async () => silent?.stop())
  app.addHook('onSend', (request, reply, payload, done) => {
    if (mustClose(request.raw) || closing) reply.header('Connection', 'close')
    done(null, payload)
  })
  return () => closing
}
