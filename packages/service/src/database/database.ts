// The database as the rest of the service sees it.

import type postgres from 'postgres'
import type { Pool } from './driver/pool.js'
import type { RootSql } from './driver/sql.js'

export type { RootSql, Sql } from './driver/sql.js'

/** A transaction of a `RootSql`. */
export type RootTransaction = postgres.TransactionSql<{ bigint: bigint }>

export interface Database {
  /** For commands, startup checks and other work outside of requests. */
  readonly sql: RootSql
  readonly pools: Pools
  readonly embedded: boolean
  /** True behind a pooler such as PgBouncer, where each transaction may get another session. */
  readonly isPooled: boolean
  /**
   * Closes the connections when their statements have finished, or as soon as `atOnce` is aborted. Then stops
   * the embedded server, unless another process uses it.
   */
  close(atOnce?: AbortSignal): Promise<void>
}

/** The pools for requests. Each has its own connections, so that none waits for another's statements. */
export interface Pools {
  /** API key lookups and health checks. */
  readonly keys: Pool
  /** Read-only statements. */
  readonly reads: Pool
  /** Writes and transactions. */
  readonly writes: Pool
}
