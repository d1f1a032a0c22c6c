// Requests: how many and how long, who is refused, and who still calls what is to go.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Operation } from '../contract/types.js'
import type { Lifetimes } from '../http/lifetime.js'

/** Of times in seconds: from an answer out of memory to one at the limit of a handler. */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

// A key beyond these is counted as one of `other`; the log names it all the same.
const keysMax = 200
const otherKeys = 'other'

type Observe = (request: FastifyRequest, reply: FastifyReply, operation: Operation | undefined) => void

// In place of the status of a request whose connection was gone before its answer was.
const aborted = 'aborted'

/** Measures every request, answered or not. */
export function measureRequests(app: FastifyInstance, registry: Registry, lifetimes: Lifetimes): void {
  const observers = [times(registry), refusals(registry), deprecatedCalls(registry)]
  const observeAll = (request: FastifyRequest, reply: FastifyReply) => {
    // Undefined, too, for a URL that cannot be routed.
    const operation = request.matched?.config?.operation
    for (const observe of observers) observe(request, reply, operation)
  }
  app.addHook('onResponse', (request, reply, done) => {
    observeAll(request, reply)
    done()
  })
  lifetimes.onAborted(observeAll)
}

function times(registry: Registry): Observe {
  const seconds = new Histogram({
    name: 'animal_store_request_seconds',
    help: 'From a request to its answer, by operation (none: beside the contract, or no such path or method) and status (aborted: its connection was gone)',
    labelNames: ['operation', 'status'],
    buckets: secondsBuckets,
    registers: [registry],
  })
  return (_, { sent, statusCode, elapsedTime }, operation) => {
    const status = sent ? statusCode : aborted
    seconds.observe({ operation: operation?.id ?? 'none', status }, elapsedTime / 1000)
  }
}

function refusals(registry: Registry): Observe {
  const requests = new Counter({
    name: 'animal_store_refusals_total',
    help: 'Requests refused with 429, by plan (none: without a valid key) and by what was used up',
    labelNames: ['plan', 'window'],
    registers: [registry],
  })
  const bans = new Counter({
    name: 'animal_store_bans_total',
    help: 'Keys that were banned for a while, by plan',
    labelNames: ['plan'],
    registers: [registry],
  })
  return ({ client, rateLimitRefusal }) => {
    if (rateLimitRefusal === undefined) return
    const plan = client?.plan ?? 'none'
    requests.inc({ plan, window: rateLimitRefusal.window })
    if (rateLimitRefusal.beginsBan) bans.inc({ plan })
  }
}

// By key, so that somebody can tell its owner before the sunset.
function deprecatedCalls(registry: Registry): Observe {
  const requests = new Counter({
    name: 'animal_store_deprecated_requests_total',
    help: `Requests for deprecated operations, by id of the key (${otherKeys}: beyond the first ${keysMax})`,
    labelNames: ['operation', 'key'],
    registers: [registry],
  })
  const keys = new Set<string>()
  const labelOf = (keyId: string) => {
    if (keys.size < keysMax) keys.add(keyId)
    return keys.has(keyId) ? keyId : otherKeys
  }
  return ({ client }, _, operation) => {
    if (operation?.deprecation === undefined || client === undefined) return
    requests.inc({ operation: operation.id, key: labelOf(client.keyId) })
  }
}
