// Where faults are played: a PostgreSQL of its own, an instance of the service, a load on it, and the books.

import { type BenchDatabase, startDatabase } from '../bench/database.js'
import { type Environment, type Program, type Service, startService } from '../stack/service.js'
import { DatabaseFaults } from './database.js'
import { type Balance, Ledger } from './ledger.js'
import { Load } from './load.js'

/** What a fault came to. */
export interface Report {
  readonly title: string
  readonly figures: readonly string[]
  /** Promises that were not kept, in words. */
  readonly broken: readonly string[]
}

const handlerTimeoutMs = 2_000
// Above the time limit, for a machine that is busy with the load itself.
const slackMs = 1_500
const clients = 8

export class Stage {
  readonly faults: DatabaseFaults

  constructor(
    readonly database: BenchDatabase,
    readonly program: Program,
  ) {
    this.faults = new DatabaseFaults(database)
  }

  static async open(program: Program): Promise<Stage> {
    return new Stage(await startDatabase(undefined, 0), program)
  }

  close(): Promise<void> {
    return this.database.close()
  }

  /** Starts an instance of the service on the database. */
  startService(environment: Environment = {}): Promise<Service> {
    const own = {
      HANDLER_TIMEOUT_MS: String(handlerTimeoutMs),
      SHUTDOWN_TIMEOUT_MS: '5000',
      LOG_LEVEL: 'fatal',
    }
    return startService({ ...own, ...this.database.env, ...environment }, this.program)
  }

  startLoad(ledger: Ledger, origin: string): Load {
    const { key } = this.database
    return new Load(ledger, { origin, key, clients, boundMs: handlerTimeoutMs + slackMs })
  }

  /** Plays something under load, and holds it to what is always promised: nothing lost, nothing twice, no wrong answer. */
  async play(
    title: string,
    origin: string,
    act: (load: Load, ledger: Ledger) => Promise<{ figures: string[]; broken?: string[] }>,
  ): Promise<Report> {
    const ledger = new Ledger()
    const load = this.startLoad(ledger, origin)
    try {
      await load.untilServed()
      const { figures, broken = [] } = await act(load, ledger)
      await load.stop()
      const balance = await ledger.balance(this.database.sql)
      const ends = [...ledger.statuses].sort().map(([end, count]) => `${end}: ${count}`)
      return {
        title,
        figures: [
          ...figures,
          inWords(balance),
          `${ends.join(', ')}; slowest ${Math.round(ledger.slowestMs)} ms`,
        ],
        broken: [...broken, ...faultsOf(balance), ...ledger.wrong.slice(0, 5)],
      }
    } finally {
      await load.stop()
    }
  }
}

function inWords({ acknowledged, found, lost, unknown, unknownStored, duplicates }: Balance): string {
  return `acknowledged ${acknowledged}, found ${found}, lost ${lost}; unknown ${unknown}, of which stored ${unknownStored}; duplicates ${duplicates}`
}

function faultsOf({ lost, duplicates }: Balance): string[] {
  return [
    ...(lost > 0 ? [`${lost} acknowledged animals are lost`] : []),
    ...(duplicates > 0 ? [`${duplicates} animals are there twice`] : []),
  ]
}

/** The broken promise, where there is one. */
export function unless(isKept: boolean, broken: string): string[] {
  return isKept ? [] : [broken]
}
