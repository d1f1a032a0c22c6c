// Database metrics: statements as the service sees them, connections and replication as the database sees
// them.

import { Gauge, Histogram, type Registry } from 'prom-client'
import type { Pools, Sql } from '../database/database.js'
import type { Pool } from '../database/driver/pool.js'
import { Feed } from '../database/feed.js'
import { unlessAborted } from '../lib/abort.js'
import { metricName } from '../lib/project-name.js'
import { singleFlight } from '../lib/shared-calls.js'
import { secondsBuckets } from './request-metrics.js'

// A scrape must not wait for an unresponsive database.
const timeoutMs = 1_000

/** Measures statements by pool. */
export function measureStatements(registry: Registry, pools: Pools): void {
  const seconds = new Histogram({
    name: metricName('statement_seconds'),
    help: 'Time of a statement, including its wait for a connection',
    labelNames: ['pool'],
    buckets: secondsBuckets,
    registers: [registry],
  })
  const inFlight = new Map(Object.keys(pools).map((name) => [name, 0]))
  new Gauge({
    name: metricName('statements_waiting'),
    help: 'Statements in flight or waiting for a connection',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [pool, count] of inFlight) this.set({ pool }, count)
    },
  })
  const change = (name: string, by: number) => inFlight.set(name, (inFlight.get(name) ?? 0) + by)
  for (const [name, pool] of Object.entries<Pool>({ ...pools })) {
    pool.observer = () => {
      const startedAt = performance.now()
      change(name, 1)
      return () => {
        change(name, -1)
        seconds.observe({ pool: name }, (performance.now() - startedAt) / 1000)
      }
    }
  }
}

/** Measures whether the database completes the statements of a pool. */
export function measureStalls(registry: Registry, pools: Pools): void {
  new Gauge({
    name: metricName('statements_stalled'),
    help: 'Whether the database completes no statements of a pool (1): of writes, no commit is acknowledged',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [name, pool] of Object.entries<Pool>({ ...pools }))
        this.set({ pool: name }, pool.isStalled ? 1 : 0)
    },
  })
}

/** Measures the feeds among a team's services, by name of the service. */
export function measureFeeds(registry: Registry, services: object): void {
  new Gauge({
    name: metricName('feed_delay_seconds'),
    help: 'How long ago something could be added that a feed has not read yet, at most, while it has readers',
    labelNames: ['feed'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [feed, each] of Object.entries(services))
        if (each instanceof Feed && each.delayMs !== undefined) this.set({ feed }, each.delayMs / 1000)
    },
  })
}

/** Measures the connections as PostgreSQL sees them, which shows waits that the driver does not know of. */
export function measureConnections(registry: Registry, { sql, options }: Pool): void {
  const registers = [registry]
  // One query for both gauges of a scrape.
  const query = singleFlight(() =>
    // With the time limit of requests, because a slow database counts as up.
    unlessAborted(countConnections(sql), AbortSignal.timeout(options.readTimeoutMs)).catch(() => undefined),
  )
  new Gauge({
    name: metricName('database_up'),
    help: 'Whether the database responds (1) or not (0)',
    registers,
    async collect() {
      this.set((await query()) === undefined ? 0 : 1)
    },
  })
  new Gauge({
    name: metricName('database_connections'),
    help:
      'Database connections of all instances by state: ' +
      'active, lock (waiting for one), idle, transaction (idle in one)',
    labelNames: ['state'],
    registers,
    async collect() {
      const counts = await query()
      this.reset()
      for (const [state, count] of Object.entries(counts ?? {})) this.set({ state }, count)
    },
  })
}

/**
 * Measures the lag of the standby that requests read from. The gauge is absent while they read from a
 * primary. Another gauge tells whether a standby is configured.
 */
export function measureReplicationLag(registry: Registry, reads: Pool, hasStandbys: boolean): void {
  new Gauge({
    name: metricName('standbys_configured'),
    help: 'Whether DATABASE_READ_URL is set (1), so that requests should read from a standby, or not (0)',
    registers: [registry],
  }).set(hasStandbys ? 1 : 0)
  new Gauge({
    name: metricName('replication_lag_seconds'),
    help: 'Replication lag of the standby that requests read from',
    registers: [registry],
    async collect() {
      const timeout = AbortSignal.timeout(timeoutMs)
      const lag = await unlessAborted(findLag(reads.sqlUntil(timeout)), timeout).catch(() => null)
      if (lag === null) this.remove()
      else this.set(lag)
    },
  })
}

// Returns zero if the standby streams and has replayed everything, otherwise the age of its last commit, an
// upper bound.
async function findLag(sql: Sql): Promise<number | null> {
  const [row] = await sql<{ lag: number | null }[]>`
    select case
      when not pg_is_in_recovery() then null
      when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
        and exists (select from pg_stat_wal_receiver) then 0
      else greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))::float8
    end as lag`
  return row?.lag ?? null
}

async function countConnections(sql: Sql): Promise<Record<string, number>> {
  const [row] = await sql<Record<string, number>[]>`
    select
      count(*) filter (where state = 'active' and wait_event_type is distinct from 'Lock')::int as active,
      count(*) filter (where wait_event_type = 'Lock')::int as lock,
      count(*) filter (where state = 'idle')::int as idle,
      count(*) filter (where state like 'idle in transaction%')::int as transaction
    from pg_stat_activity
    where datname = current_database() and application_name = current_setting('application_name')`
  return { ...row }
}
