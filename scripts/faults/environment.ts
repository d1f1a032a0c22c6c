// Where scenarios run: a PostgreSQL of its own, an instance of the service, a load on it, and the books.

import { setTimeout as delay } from 'node:timers/promises'
import { type BenchDatabase, startDatabase } from '../bench/database.js'
import { type Environment as EnvironmentVariables, type Service, startService } from '../lib/service.js'
import { DatabaseFaults } from './database.js'
import { type Balance, Ledger } from './ledger.js'
import { type Clients, Load } from './load.js'

/** What a fault came to. */
export interface Report {
  readonly title: string
  readonly figures: readonly string[]
  /** Promises that were not kept, in words. */
  readonly broken: readonly string[]
}

/** How long things may take, in milliseconds. */
export interface Bounds {
  /** The time limit of each answer. */
  readonly answerMs: number
  /** The time limit where requests are to exceed it. Half of it is enough for what waits for nothing. */
  readonly refusedMs: number
  /** Above it, for a machine that is busy with the load itself. */
  readonly slackMs: number
  /** From the end of an outage to the next request that is served, and to no more connections than before. */
  readonly recoveryMs: number
  /** A request that is not to notice anything. */
  readonly unnoticedMs: number
  /** For a balancer to learn that an instance is about to stop. */
  readonly announcementMs: number
  /** For a stop. */
  readonly stopMs: number
}

/** What is promised, on a machine that has nothing else to do. */
export const promisedBounds: Bounds = {
  answerMs: 2_000,
  refusedMs: 1_000,
  slackMs: 1_500,
  recoveryMs: 1_000,
  unnoticedMs: 1_000,
  announcementMs: 500,
  stopMs: 5_000,
}

/** As many as keep an instance busy. */
export const manyClients: Clients = { count: 8, pauseMs: 0 }

export class Environment {
  readonly faults: DatabaseFaults

  constructor(
    readonly database: BenchDatabase,
    readonly bounds: Bounds,
    readonly clients: Clients,
    readonly interruption: AbortSignal,
  ) {
    this.faults = new DatabaseFaults(database)
  }

  /** @param interruption ends whatever is waited for, so that each gives back what it took */
  static async open(
    bounds: Bounds,
    clients: Clients,
    interruption: AbortSignal = new AbortController().signal,
  ): Promise<Environment> {
    return new Environment(await startDatabase(undefined, 0, interruption), bounds, clients, interruption)
  }

  close(): Promise<void> {
    return this.database.close()
  }

  /** The same on another database, whose owner closes it. */
  on(database: Pick<BenchDatabase, 'key' | 'sql' | 'env'>, clients: Partial<Clients> = {}): Environment {
    return new Environment(
      { ...this.database, ...database },
      this.bounds,
      { ...this.clients, ...clients },
      this.interruption,
    )
  }

  /** Starts an instance of the service on the database. */
  startService(env: EnvironmentVariables = {}): Promise<Service> {
    const own = {
      HANDLER_TIMEOUT_MS: String(this.bounds.answerMs),
      SHUTDOWN_TIMEOUT_MS: String(this.bounds.stopMs),
      LOG_LEVEL: 'fatal',
    }
    return startService({ ...own, ...this.database.env, ...env })
  }

  startLoad(ledger: Ledger, origin: string): Load {
    const { clients, interruption } = this
    const { key } = this.database
    const { answerMs, slackMs } = this.bounds
    return new Load(ledger, { origin, key, clients, boundMs: answerMs + slackMs, interruption })
  }

  /** Waits. */
  delay(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.interruption })
  }

  /** Runs a scenario under load, and holds it to what is always promised: nothing lost, nothing twice, no wrong answer. */
  async run(
    title: string,
    origin: string,
    scenario: (load: Load, ledger: Ledger) => Promise<{ figures: string[]; broken?: string[] }>,
  ): Promise<Report> {
    const ledger = new Ledger()
    const load = this.startLoad(ledger, origin)
    try {
      await load.untilServed()
      const { figures, broken = [] } = await scenario(load, ledger)
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
