// The time an answer may take. Fastify's own handlerTimeout makes an AbortController for every request and aborts it at the
// request's end: as much work as the rest of its routing. Here requests wait in the order they came, so the oldest is
// all that has to be looked at. They are linked to each other, for a Map of them costs more than everything else here.

import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Contract } from './contract/document.js'
import { type ApiError, requestFault, unavailable } from './errors.js'

declare module 'fastify' {
  interface FastifyRequest {
    deadline: Deadline | undefined
  }
}

interface Deadline {
  readonly reply: FastifyReply | undefined
  readonly untilMs: number
  previous: Deadline
  next: Deadline
}

const checkEveryMs = 50

/**
 * Answers 503 to whatever has no answer after so many milliseconds, and 408 to what has not come whole by then: it is the
 * caller who is late. A handler that comes too late finds `reply.sent`.
 */
export function addDeadline(app: FastifyInstance, timeoutMs: number, contract: Contract): void {
  const waiting = new Deadlines()
  app.decorateRequest('deadline', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    request.deadline = waiting.add(reply, performance.now() + timeoutMs)
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.deadline !== undefined) waiting.remove(request.deadline)
    done()
  })
  const timer = setInterval(() => {
    for (const reply of waiting.takeUntil(performance.now()))
      giveUp(reply, lateness(reply, timeoutMs, contract))
  }, checkEveryMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

// A ring, of which one place is where it begins and ends.
class Deadlines {
  readonly #end: Deadline

  constructor() {
    const end = { reply: undefined, untilMs: Number.POSITIVE_INFINITY } as Deadline
    end.previous = end
    end.next = end
    this.#end = end
  }

  add(reply: FastifyReply, untilMs: number): Deadline {
    const last = this.#end.previous
    const deadline = { reply, untilMs, previous: last, next: this.#end }
    last.next = deadline
    this.#end.previous = deadline
    return deadline
  }

  /** Also of one that is no longer there. */
  remove(deadline: Deadline): void {
    deadline.previous.next = deadline.next
    deadline.next.previous = deadline.previous
    deadline.previous = deadline
    deadline.next = deadline
  }

  takeUntil(nowMs: number): FastifyReply[] {
    const replies: FastifyReply[] = []
    for (let first = this.#end.next; first.untilMs <= nowMs; first = this.#end.next) {
      this.remove(first)
      if (first.reply) replies.push(first.reply)
    }
    return replies
  }
}

function lateness({ request: { raw } }: FastifyReply, timeoutMs: number, contract: Contract): ApiError {
  const cause = new Error(`no answer within ${timeoutMs} ms`)
  return raw.complete ? unavailable(cause) : requestFault('request_timeout', contract, cause)
}

function giveUp(reply: FastifyReply, error: ApiError): void {
  if (reply.sent) return
  // An answer that has begun cannot become another.
  if (reply.raw.headersSent) reply.raw.destroy()
  else void reply.send(error)
}
