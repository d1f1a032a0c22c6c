// The time an answer may take. Fastify's own handlerTimeout makes an AbortController for every request and aborts it at the
// request's end: as much work as the rest of its routing. Here requests wait in the order they came, so the oldest is
// all that has to be looked at.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { unavailable } from './errors.js'

interface Waiting {
  readonly reply: FastifyReply
  readonly until: number
}

const checkEveryMs = 50

/** Answers 503 to whatever has no answer after so many milliseconds. A handler that comes too late finds `reply.sent`. */
export function addDeadline(app: FastifyInstance, timeoutMs: number): void {
  const waiting = new Map<FastifyRequest, Waiting>()
  app.addHook('onRequest', (request, reply, done) => {
    waiting.set(request, { reply, until: performance.now() + timeoutMs })
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    waiting.delete(request)
    done()
  })
  const timer = setInterval(() => {
    const now = performance.now()
    for (const [request, { reply, until }] of waiting) {
      if (until > now) return
      waiting.delete(request)
      giveUp(reply, timeoutMs)
    }
  }, checkEveryMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

function giveUp(reply: FastifyReply, timeoutMs: number): void {
  if (reply.sent) return
  // An answer that has begun cannot become another.
  if (reply.raw.headersSent) reply.raw.destroy()
  else void reply.send(unavailable(new Error(`no answer within ${timeoutMs} ms`)))
}
