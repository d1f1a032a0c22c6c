// What Prometheus is told, at a port of its own. Every label takes few values: those of the contract (operations, statuses,
// plans), or a bounded number of keys.

import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Counters, CountersState } from '../access/limiters.js'
import type { RootSql } from '../database/connect.js'
import type { Work } from '../overload.js'
import { measureConnections, measureStatements, type WatchStatements } from './database.js'
import { measureRequests } from './requests.js'
import { createMetricsServer } from './server.js'

export interface Metrics {
  /** Answers with them once it listens; the application's close ends it. */
  readonly server: Server
  readonly watch: WatchStatements
}

const eventLoopPrecisionMs = 10

/** Measures a server: its requests from now on, and the state of its parts whenever it is asked. */
export function addMetrics(app: FastifyInstance, sql: RootSql, counters: Counters, work: Work): Metrics {
  const registry = new Registry()
  // Memory, processor time, the event loop's delay, garbage collection.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopPrecisionMs })
  measureRequests(app, registry)
  measureCallers(app, registry)
  measureCounters(registry, counters)
  measureWork(registry, work)
  measureConnections(registry, sql)
  return { server: createMetricsServer(app, registry), watch: measureStatements(registry) }
}

function measureCallers(app: FastifyInstance, registry: Registry): void {
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

function measureWork(registry: Registry, work: Work): void {
  new Gauge({
    name: 'animal_store_work',
    help: 'Requests of operations that are worked at',
    registers: [registry],
    collect() {
      this.set(work.count)
    },
  })
  new Counter({
    name: 'animal_store_overload_refusals_total',
    help: 'Requests of operations that were refused for there was work enough',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(work.refused)
    },
  })
}

const places: readonly CountersState[] = ['memory', 'redis', 'memory, for redis is away']

function measureCounters(registry: Registry, counters: Counters): void {
  new Gauge({
    name: 'animal_store_counters',
    help: 'Where requests are counted: 1 at the place of now',
    labelNames: ['place'],
    registers: [registry],
    collect() {
      for (const place of places) this.set({ place }, place === counters.state() ? 1 : 0)
    },
  })
}
