// What Prometheus is told, at a port of its own. Every label takes few values: those of the contract (operations, statuses,
// plans), or a bounded number of keys.

import type { Server } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Pools } from '../database/types.js'
import type { Lifetimes } from '../http/lifetime.js'
import type { LoadShedder } from '../http/load-shedding.js'
import { type RefusedConnections, refusalReasons } from '../http/refused-connections.js'
import type { Counters, CountersState } from '../rate-limit/counters.js'
import { measureConnections, measureReplicationLag, measureStatements } from './database.js'
import { measureRequests } from './requests.js'
import { type AskHealth, closeMetricsServer, createMetricsServer } from './server.js'

/** What is measured beside the server itself. */
export interface MeasuredParts {
  readonly pools: Pools
  readonly counters: Counters
  readonly loadShedder: LoadShedder
  readonly lifetimes: Lifetimes
  readonly refusedConnections: RefusedConnections
  /** Whether a primary asks for what is measured, and adds it up. */
  readonly isShared: boolean
}

const eventLoopPrecisionMs = 10

/**
 * Measures a server: its requests from now on, and the state of its parts whenever it is asked. The server that is returned
 * answers with the metrics once it listens; the application's close ends it.
 */
export function addMetrics(
  app: FastifyInstance,
  { pools, counters, loadShedder, lifetimes, refusedConnections, isShared }: MeasuredParts,
): Server {
  const registry = new Registry()
  // Memory, processor time, the event loop's delay, garbage collection.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopPrecisionMs })
  measureRequests(app, registry, lifetimes)
  measureCallers(app, registry, refusedConnections)
  measureCounters(registry, counters)
  measureLoad(registry, loadShedder)
  measureStatements(registry, pools)
  measureConnections(registry, pools.keys.sql)
  measureReplicationLag(registry, pools.reads)
  if (isShared) shareMetrics(registry)
  const health: AskHealth = async (url) => {
    const { statusCode, body } = await app.inject(url)
    return { status: statusCode, body }
  }
  const server = createMetricsServer(registry, health, app.log)
  app.addHook('onClose', () => closeMetricsServer(server))
  return server
}

// With the primary, which prom-client answers by itself.
function shareMetrics(registry: Registry): void {
  AggregatorRegistry.setRegistries([registry])
  new AggregatorRegistry()
}

/**
 * The sums of what the workers of this process measure; it does not listen yet.
 * @param originOf where the workers listen: whether they are ready, one of them is asked
 */
export function createWorkersMetrics(log: FastifyBaseLogger, originOf: () => string): Server {
  const registry = new AggregatorRegistry()
  return createMetricsServer(
    { contentType: registry.contentType, metrics: () => registry.clusterMetrics() },
    async (url) => {
      if (url === '/healthz') return { status: 200, body: JSON.stringify({ status: 'ok' }) }
      const answer = await fetch(originOf() + url, { signal: AbortSignal.timeout(healthTimeoutMs) })
      return { status: answer.status, body: await answer.text() }
    },
    log,
  )
}

// Longer than a worker takes to tell.
const healthTimeoutMs = 2_000

function measureCallers(app: FastifyInstance, registry: Registry, refused: RefusedConnections): void {
  new Counter({
    name: 'animal_store_refused_connections_total',
    help: 'Connections closed because CONNECTIONS_MAX were open, or CONNECTIONS_PER_ADDRESS_MAX of their address',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const reason of refusalReasons) this.inc({ reason }, refused.count(reason))
    },
  })
  new Gauge({
    name: 'animal_store_connections',
    help: 'Open connections of callers',
    registers: [registry],
    async collect() {
      this.set(
        await new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count))),
      )
    },
  })
}

function measureLoad(registry: Registry, loadShedder: LoadShedder): void {
  new Gauge({
    name: 'animal_store_requests_in_flight',
    help: 'Requests of operations whose handlers are running, or whose keys are being looked up',
    registers: [registry],
    collect() {
      this.set(loadShedder.inFlight)
    },
  })
  new Counter({
    name: 'animal_store_overload_refusals_total',
    help: 'Requests of operations refused because WORK_MAX was reached',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(loadShedder.refused)
    },
  })
}

const places: readonly CountersState[] = ['memory', 'redis', 'memory_fallback']

function measureCounters(registry: Registry, counters: Counters): void {
  new Gauge({
    name: 'animal_store_counters',
    help: 'Where requests are counted: 1 at the place of now',
    labelNames: ['place'],
    aggregator: 'max', // of workers
    registers: [registry],
    collect() {
      for (const place of places) this.set({ place }, place === counters.state() ? 1 : 0)
    },
  })
}
