// Prometheus metrics, on a separate port: without them, operators would learn of an outage from their
// callers. Labels have few values: those of the contract (operations, statuses, plans), or a limited number
// of keys.

import type { Server } from 'node:http'
import type { Contract } from 'contract-engine'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Config } from '../config.js'
import type { Pools } from '../database/database.js'
import type { Arrivals } from '../http/accept-first.js'
import type { Lifetimes } from '../http/lifetime.js'
import type { NewConnections } from '../http/new-connections.js'
import type { FindFault } from '../http/readiness.js'
import { type RefusedConnections, refusalReasons } from '../http/refused-connections.js'
import { lostLines } from '../lib/log.js'
import { metricName } from '../lib/project-name.js'
import type { Counters, CountersState } from '../rate-limit/counters.js'
import { measureCertificates, measureNewConnections } from './connection-metrics.js'
import {
  measureConnections,
  measureFeeds,
  measureReplicationLag,
  measureStalls,
  measureStatements,
} from './database-metrics.js'
import { closeMetricsServer, createMetricsServer, healthOf } from './metrics-server.js'
import { measureRequests, secondsBuckets } from './request-metrics.js'

/** The requests in handlers, and the number of requests refused because there were too many. */
interface Load {
  readonly inFlight: number
  readonly refused: number
  readonly streamsInFlight: number
  readonly streamsRefused: ReadonlyMap<string, number>
}

/** The memory that bodies hold, and the number of bodies refused because there was no room. */
interface Bodies {
  readonly held: number
  readonly refused: number
}

/** The measured parts of the application. */
export interface MeasuredParts {
  readonly config: Pick<Config, 'databaseReadUrl'>
  readonly contract: Contract
  readonly pools: Pools
  readonly services: object
  readonly counters: Counters
  readonly loadShedder: Load
  readonly bodies: Bodies
  readonly lifetimes: Lifetimes
  readonly arrivals: Arrivals
  readonly refusedConnections: RefusedConnections
  readonly trials: NewConnections
  readonly findFault: FindFault
}

const eventLoopPrecisionMs = 10
// Gauges of prom-client whose names end in `_total`, which `promtool check metrics` refuses. They are sums of
// the gauges without `_total`.
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/**
 * Measures the requests of an application from now on, and the state of its parts at each scrape. Returns the
 * metrics server. It does not listen yet; the application closes it.
 */
export function addMetrics(app: FastifyInstance, parts: MeasuredParts): Server {
  const { config, contract, pools, counters, loadShedder, lifetimes, refusedConnections, findFault } = parts
  const registry = new Registry()
  // Memory, CPU, event-loop lag, garbage collection.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopPrecisionMs })
  for (const name of misnamed) registry.removeSingleMetric(name)
  measureRequests(registry, lifetimes)
  measureClientConnections(app, registry, refusedConnections)
  measureArrivals(registry, parts.arrivals)
  measureCounters(registry, counters)
  measureNewConnections(registry, parts.trials)
  measureCertificates(registry, pools, counters.redis)
  measureLoad(registry, loadShedder)
  measureStreams(registry, loadShedder)
  measureBodies(registry, parts.bodies)
  measureLog(registry)
  measureStatements(registry, pools)
  measureStalls(registry, pools)
  measureFeeds(registry, parts.services)
  measureConnections(registry, pools.keys)
  measureReplicationLag(registry, pools.reads, config.databaseReadUrl !== undefined)
  measureReadiness(registry, findFault) // last: its statements would count as those of requests
  const server = createMetricsServer(registry, healthOf(app, contract), app.log)
  app.addHook('onClose', () => closeMetricsServer(server))
  return server
}

function measureReadiness(registry: Registry, findFault: FindFault): void {
  new Gauge({
    name: metricName('ready'),
    help:
      'Whether the instance is ready (1), as /readyz responds, or not (0), ' +
      'by what is wrong (none: nothing)',
    labelNames: ['cause'],
    registers: [registry],
    async collect() {
      const { cause, isReady } = (await findFault()) ?? { cause: 'none', isReady: true }
      this.reset()
      this.set({ cause }, isReady ? 1 : 0)
    },
  })
}

function measureClientConnections(
  app: FastifyInstance,
  registry: Registry,
  refused: RefusedConnections,
): void {
  new Counter({
    name: metricName('refused_connections_total'),
    help: 'Connections closed because CONNECTIONS_MAX or CONNECTIONS_PER_ADDRESS_MAX was reached',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const reason of refusalReasons) this.inc({ reason }, refused.count(reason))
    },
  })
  new Gauge({
    name: metricName('connections'),
    help: 'Open client connections',
    registers: [registry],
    async collect() {
      this.set(
        await new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count))),
      )
    },
  })
}

function measureArrivals(registry: Registry, arrivals: Arrivals): void {
  const seconds = new Histogram({
    name: metricName('accept_seconds'),
    help:
      'How long callers who connected together were accepted, from the first to the last: ' +
      'none of them waited longer than that and one turn of the event loop',
    buckets: secondsBuckets,
    registers: [registry],
  })
  arrivals.onBurst((ms) => seconds.observe(ms / 1000))
}

function measureLoad(registry: Registry, loadShedder: Load): void {
  new Gauge({
    name: metricName('requests_in_flight'),
    help: 'Running handlers and look-ups of known API keys',
    registers: [registry],
    collect() {
      this.set(loadShedder.inFlight)
    },
  })
  new Counter({
    name: metricName('overload_refusals_total'),
    help: 'Requests refused with 503 because WORK_MAX was reached',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(loadShedder.refused)
    },
  })
}

function measureStreams(registry: Registry, loadShedder: Load): void {
  new Gauge({
    name: metricName('streams_in_flight'),
    help: 'Responses in flight whose body is a stream',
    registers: [registry],
    collect() {
      this.set(loadShedder.streamsInFlight)
    },
  })
  new Counter({
    name: metricName('stream_refusals_total'),
    help: 'Streams refused with 503 because STREAMS_MAX was reached, by operation',
    labelNames: ['operation'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [operation, count] of loadShedder.streamsRefused) this.inc({ operation }, count)
    },
  })
}

function measureBodies(registry: Registry, bodies: Bodies): void {
  new Gauge({
    name: metricName('bodies_bytes'),
    help: 'What the request bodies in flight hold, without those of up to 16 kB',
    registers: [registry],
    collect() {
      this.set(bodies.held)
    },
  })
  new Counter({
    name: metricName('body_refusals_total'),
    help: 'Requests refused with 503 because bodies in flight held BODIES_MAX_BYTES',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(bodies.refused)
    },
  })
}

function measureLog(registry: Registry): void {
  new Counter({
    name: metricName('log_lines_lost_total'),
    help: 'Lines of the log that were dropped, because its reader or its disk did not take them',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(lostLines())
    },
  })
}

const states: readonly CountersState[] = ['memory', 'redis', 'memory_fallback']

function measureCounters(registry: Registry, counters: Counters): void {
  new Gauge({
    name: metricName('counters'),
    help: 'Where requests are counted for rate limiting: 1 for the current place',
    labelNames: ['place'],
    registers: [registry],
    collect() {
      for (const place of states) this.set({ place }, place === counters.state() ? 1 : 0)
    },
  })
  const seconds = new Histogram({
    name: metricName('redis_seconds'),
    help: 'Time of a round trip to Redis, which counts the requests of a moment; also of one that failed',
    buckets: secondsBuckets,
    registers: [registry],
  })
  if (counters.redis !== undefined) counters.redis.shared.ontime = (ms) => seconds.observe(ms / 1000)
}
