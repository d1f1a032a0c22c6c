// What the database is to those who use it.

import type { Handle } from './driver/connection.js'
import type { Pool } from './driver/pool.js'

export type { Sql } from './driver/sql.js'

/** A pool of postgres.js's own: for commands, migrations and LISTEN. */
export type RootSql = Handle

export interface Database {
  /** For whatever is no request: it takes its time, and nobody waits for it. */
  readonly sql: RootSql
  readonly pools: Pools
  readonly embedded: boolean
  /** Behind a pooler each transaction may have another session. */
  readonly isPooled: boolean
  /** Ends the connections once their statements are done, or at once when told so, and the embedded server if no one else uses it. */
  close(atOnce?: AbortSignal): Promise<void>
}

/** For the statements of requests. Each pool has connections of its own, so that none waits for the others' work. */
export interface Pools {
  /** Who calls, and whether the database answers. */
  readonly keys: Pool
  /** Statements that only read. */
  readonly reads: Pool
  /** Statements that write, and transactions. */
  readonly writes: Pool
}
