// The environment of a scenario: PostgreSQL, an instance of the service, load, and a ledger of the responses.

import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Environment as EnvironmentVariables,
  type Service,
  startService,
} from 'contract-service/tools/lib/service'
import { type BenchDatabase, startDatabase } from '../bench/database.js'
import { type Balance, Ledger } from './ledger.js'
import { type Clients, Load } from './load.js'

/** What a scenario found. */
export interface Outcome {
  readonly figures: readonly string[]
  /** Violated guarantees. */
  readonly violations: readonly string[]
}

export interface Report extends Outcome {
  readonly title: string
}

/** Time limits in milliseconds. */
export interface Bounds {
  /** HANDLER_TIMEOUT_MS. */
  readonly responseMs: number
  /** HANDLER_TIMEOUT_MS where requests exceed it. Requests that do not wait need less than half. */
  readonly refusedMs: number
  /** HANDLER_TIMEOUT_MS while a standby is lost: creates, which do not notice, need less than half. */
  readonly standbyMs: number
  /** Added to it for a machine that is busy with the load itself. */
  readonly slackMs: number
  /** From the end of an outage to the next served request, and to the previous number of connections. */
  readonly recoveryMs: number
  /** A request that the fault must not affect. */
  readonly unnoticedMs: number
  /** SHUTDOWN_DELAY_MS, for a load balancer to notice the shutdown. */
  readonly announcementMs: number
  /** SHUTDOWN_TIMEOUT_MS. */
  readonly stopMs: number
}

/** The guarantees of docs/measurements.md, on an otherwise idle machine. */
export const documentedBounds: Bounds = {
  responseMs: 2_000,
  refusedMs: 1_000,
  standbyMs: 2_000,
  slackMs: 1_500,
  recoveryMs: 1_000,
  unnoticedMs: 1_000,
  announcementMs: 500,
  stopMs: 5_000,
}

/** Enough to keep an instance busy. */
export const manyClients: Clients = { count: 8, pauseMs: 0 }

export class Environment {
  constructor(
    readonly database: BenchDatabase,
    readonly bounds: Bounds,
    readonly clients: Clients,
    readonly interruption: AbortSignal,
  ) {
    setMaxListeners(0, interruption) // each client that waits has one
  }

  /** @param interruption ends all waits, so that scenarios clean up */
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

  /** Returns this environment on another database, which its owner closes. */
  on(database: Pick<BenchDatabase, 'key' | 'sql' | 'env'>, clients: Partial<Clients> = {}): Environment {
    return new Environment(
      { ...this.database, ...database },
      this.bounds,
      { ...this.clients, ...clients },
      this.interruption,
    )
  }

  /** Returns this environment, in which waits end with this signal too. */
  until(end: AbortSignal): Environment {
    const interruption = AbortSignal.any([this.interruption, end])
    return new Environment(this.database, this.bounds, this.clients, interruption)
  }

  /** Starts an instance of the service on the database. */
  startService(env: EnvironmentVariables = {}): Promise<Service> {
    const own = {
      HANDLER_TIMEOUT_MS: String(this.bounds.responseMs),
      SHUTDOWN_TIMEOUT_MS: String(this.bounds.stopMs),
      LOG_LEVEL: 'fatal',
    }
    return startService({ ...own, ...this.database.env, ...env })
  }

  delay(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.interruption })
  }

  /** Runs a scenario under load, and checks: no lost write, no duplicate, no wrong response. */
  async run(
    title: string,
    origin: string,
    scenario: (load: Load, ledger: Ledger) => Promise<Outcome>,
  ): Promise<Report> {
    const { bounds, clients, database, interruption } = this
    const boundMs = bounds.responseMs + bounds.slackMs
    const ledger = new Ledger()
    const load = new Load(ledger, { origin, key: database.key, clients, boundMs, interruption })
    try {
      await load.untilServed()
      const { figures, violations } = await scenario(load, ledger)
      await load.stop()
      const balance = await ledger.balance(database.sql)
      const ends = [...ledger.statuses].sort().map(([end, count]) => `${end}: ${count}`)
      const slowest = `slowest ${Math.round(ledger.slowestMs)} ms`
      return {
        title,
        figures: [...figures, summaryOf(balance), `${ends.join(', ')}; ${slowest}`],
        violations: [...violations, ...violationsOf(balance), ...ledger.wrong.slice(0, 5)],
      }
    } finally {
      await load.stop()
    }
  }
}

function summaryOf({ acknowledged, found, lost, unknown, unknownStored, duplicates }: Balance): string {
  const ofUnknown = `unknown ${unknown}, of which stored ${unknownStored}`
  return `acknowledged ${acknowledged}, found ${found}, lost ${lost}; ${ofUnknown}; duplicates ${duplicates}`
}

function violationsOf({ lost, duplicates }: Balance): string[] {
  return [
    ...unless(lost === 0, `${lost} acknowledged pets are lost`),
    ...unless(duplicates === 0, `${duplicates} pets are stored twice`),
  ]
}

/** The violation as a list, empty if the guarantee holds. */
export function unless(holds: boolean, violation: string): string[] {
  return holds ? [] : [violation]
}
