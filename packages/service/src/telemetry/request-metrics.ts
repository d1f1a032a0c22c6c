// Request metrics: count and time, rate-limit refusals, calls of deprecated operations.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Lifetimes } from '../http/lifetime.js'
import { metricName } from '../lib/project-name.js'
import { operationNameOf } from '../middleware/operation-names.js'

/** Buckets in seconds, from a cached response to the default HANDLER_TIMEOUT_MS. */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

// From a short download to a feed that a deployment ends after a day.
const streamBuckets = [0.1, 1, 10, 60, 600, 3_600, 21_600, 86_400]

// Further keys are counted as `other`; the log has each key.
const keysMax = 200
const otherKeys = 'other'

/** @param operation the name of the request's operation, if it has one */
type Observe = (request: FastifyRequest, reply: FastifyReply, operation: string | undefined) => void

// The status of a request whose connection closed before its response.
const aborted = 'aborted'

/** Measures every request, including aborted ones. */
export function measureRequests(registry: Registry, lifetimes: Lifetimes): void {
  const observers = [
    observeTimes(registry),
    observeStreams(registry),
    observeRefusals(registry),
    observeDeprecated(registry),
  ]
  lifetimes.onEnd((request, reply) => {
    const operation = request.matched?.config.operation
    const name = operation && operationNameOf(request, operation)
    for (const observe of observers) observe(request, reply, name)
  })
}

function observeTimes(registry: Registry): Observe {
  const seconds = new Histogram({
    name: metricName('request_seconds'),
    help:
      'Time of the service, without waits for the client, until the response or, of a stream, its begin, ' +
      'by operation (none: not in the contract) and status (aborted: the connection closed before the response)',
    labelNames: ['operation', 'status'],
    buckets: secondsBuckets,
    registers: [registry],
  })
  return ({ lifetime }, { elapsedTime }, operation) => {
    const status = lifetime?.status ?? aborted
    // A client that sends its body slowly, or reads the response slowly, must not look like a slow service.
    const ms = lifetime?.serviceMs ?? elapsedTime
    seconds.observe({ operation: operation ?? 'none', status }, ms / 1000)
  }
}

// A metric of its own, because the duration of a feed says nothing about the speed of the service.
function observeStreams(registry: Registry): Observe {
  const seconds = new Histogram({
    name: metricName('stream_seconds'),
    help:
      'How long responses whose body is a stream lasted, ' +
      'by operation and whether the whole body was sent',
    labelNames: ['operation', 'whole'],
    buckets: streamBuckets,
    registers: [registry],
  })
  return ({ lifetime }, { sent, elapsedTime }, operation) => {
    if (!lifetime?.isStream) return
    seconds.observe({ operation: operation ?? 'none', whole: String(sent) }, elapsedTime / 1000)
  }
}

function observeRefusals(registry: Registry): Observe {
  const requests = new Counter({
    name: metricName('refusals_total'),
    help: 'Requests refused with 429 by plan (none: without a valid key) and window',
    labelNames: ['plan', 'window'],
    registers: [registry],
  })
  const bans = new Counter({
    name: metricName('bans_total'),
    help: 'Bans of keys by plan',
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

// By key, so that the operator can notify its owner before the sunset.
function observeDeprecated(registry: Registry): Observe {
  const requests = new Counter({
    name: metricName('deprecated_requests_total'),
    help:
      'Requests of deprecated operations by key id, or the security scheme of callers without a key ' +
      `(${otherKeys}: beyond the first ${keysMax})`,
    labelNames: ['operation', 'key'],
    registers: [registry],
  })
  const keys = new Set<string>()
  const labelOf = (keyId: string) => {
    if (keys.size < keysMax) keys.add(keyId)
    return keys.has(keyId) ? keyId : otherKeys
  }
  return ({ client, matched }, _, operation) => {
    if (!matched?.config.operation?.deprecation || operation === undefined || client === undefined) return
    requests.inc({ operation, key: labelOf(client.keyId ?? client.scheme) })
  }
}
