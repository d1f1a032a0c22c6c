// The database: what the service waits for, and how the database sees the service.

import { Gauge, Histogram, type Registry } from 'prom-client'
import type { Pool } from '../database/driver/pool.js'
import type { Pools, Sql } from '../database/types.js'
import { unlessAborted } from '../lib/abort.js'
import { singleFlight } from '../lib/coalesce.js'
import { secondsBuckets } from './requests.js'

// A scrape must not wait for a database that hangs.
const timeoutMs = 1_000

/** Statements by pool. */
export function measureStatements(registry: Registry, pools: Pools): void {
  const seconds = new Histogram({
    name: 'animal_store_statement_seconds',
    help: 'From a statement to its rows, its wait for a connection included',
    labelNames: ['pool'],
    buckets: secondsBuckets,
    registers: [registry],
  })
  const inFlight = new Map<string, number>()
  new Gauge({
    name: 'animal_store_statements_waiting',
    help: 'Statements that have no answer yet',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [pool, count] of inFlight) this.set({ pool }, count)
    },
  })
  const change = (name: string, by: number) => inFlight.set(name, (inFlight.get(name) ?? 0) + by)
  for (const [name, pool] of Object.entries<Pool>({ ...pools })) {
    change(name, 0)
    pool.observe(() => {
      const startedAt = performance.now()
      change(name, 1)
      return () => {
        change(name, -1)
        seconds.observe({ pool: name }, (performance.now() - startedAt) / 1000)
      }
    })
  }
}

/** The connections, as the database sees them: whatever waits shows here, whatever the driver knows of it. */
export function measureConnections(registry: Registry, sql: Sql): void {
  const registers = [registry]
  // Both gauges of a scrape ask at once, and are told the same.
  const ask = singleFlight(() =>
    unlessAborted(countConnections(sql), AbortSignal.timeout(timeoutMs)).catch(() => undefined),
  )
  new Gauge({
    name: 'animal_store_database_up',
    help: 'Whether the database answers',
    registers,
    aggregator: 'min', // of workers
    async collect() {
      this.set((await ask()) === undefined ? 0 : 1)
    },
  })
  new Gauge({
    name: 'animal_store_database_connections',
    help: 'Connections of all instances to the database, by what they do; lock: they wait for others',
    labelNames: ['state'],
    registers,
    aggregator: 'max', // of workers, each of which is told of all
    async collect() {
      const counts = await ask()
      this.reset()
      for (const [state, count] of Object.entries(counts ?? {})) this.set({ state }, count)
    },
  })
}

/** How far the standby that requests read from is behind; nothing where they read from a primary. */
export function measureReplicationLag(registry: Registry, reads: Pool): void {
  new Gauge({
    name: 'animal_store_replication_lag_seconds',
    help: 'How far the standby that requests read from is behind',
    registers: [registry],
    aggregator: 'max', // of workers
    async collect() {
      const late = AbortSignal.timeout(timeoutMs)
      const lag = await unlessAborted(findLag(reads.sqlUntil(late)), late).catch(() => null)
      if (lag === null) this.remove()
      else this.set(lag)
    },
  })
}

// What was received is the latest there is while a primary sends. Else the standby is behind by no more than the age of its last commit.
async function findLag(sql: Sql): Promise<number | null> {
  const [row] = await sql<{ lag: number | null }[]>`
    select case when not pg_is_in_recovery() then null
                when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() and exists (select from pg_stat_wal_receiver) then 0
                else greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))::float8
           end as lag`
  return row?.lag ?? null
}

async function countConnections(sql: Sql): Promise<Record<string, number>> {
  const [row] = await sql<Record<string, number>[]>`
    select count(*) filter (where state = 'active' and wait_event_type is distinct from 'Lock')::int as active,
           count(*) filter (where wait_event_type = 'Lock')::int as lock,
           count(*) filter (where state = 'idle')::int as idle,
           count(*) filter (where state like 'idle in transaction%')::int as transaction
    from pg_stat_activity
    where datname = current_database() and application_name = current_setting('application_name')`
  return { ...row }
}
